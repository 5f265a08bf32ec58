import HealthKV

/// Whether the links of one type may belong to another database than the peer's.
///
/// After a copy or a restoration of the store, the peer may never have held the samples that it does not show.
enum Doubt: Codable, Sendable, Equatable {
    /// Links prove that the peer held their samples.
    case none
    /// Links are doubted since a commit. If the peer shows a sample that the store held then, both know each other.
    case open(since: UInt64)
    /// Links are doubted, and the peer has shown a sample under an id that the store knew before.
    case seenAgain(since: UInt64)
    /// The doubt is over, and the peer had shown such a sample.
    case confirmed

    /// Whether the links are doubted until the next whole comparison of the type.
    var isOpen: Bool {
        switch self {
        case .open, .seenAgain: true
        case .none, .confirmed: false
        }
    }

    /// Whether the peer showed a sample that the store knew before the last doubt.
    var isSeenAgain: Bool {
        switch self {
        case .seenAgain, .confirmed: true
        case .none, .open: false
        }
    }

    /// The commit since which links are doubted, as long as the peer has shown nothing that was known before.
    var unseenSince: UInt64? { if case .open(let commit) = self { commit } else { nil } }

    /// Doubts the links from a commit on, whatever was known before.
    mutating func begin(at commit: UInt64) { self = .open(since: commit) }

    /// Notes that the peer showed a sample that the store knew before the doubt.
    mutating func see() { if case .open(let commit) = self { self = .seenAgain(since: commit) } }

    /// Notes a whole comparison: samples that it missed are no longer this peer's to take away.
    mutating func end() {
        switch self {
        case .open: self = .none
        case .seenAgain: self = .confirmed
        case .none, .confirmed: break
        }
    }
}
