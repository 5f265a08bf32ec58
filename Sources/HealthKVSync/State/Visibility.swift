import HealthKV

/// Whether the peer still shows foreign samples of one type.
///
/// A revoked read access cannot be seen, only suspected: all samples of a type that were seen before vanished, twice
/// (SEMANTICS C11). Access is revoked by type.
enum Visibility: Codable, Sendable, Equatable {
    /// Nothing has vanished, as far as is known.
    case shown
    /// The last comparison showed no foreign sample although the store holds some. The next one counts only an hour
    /// later.
    case vanished(at: Instant)
    /// Several comparisons in a row showed none; the last one was at this time.
    case vanishedAgain(at: Instant)

    /// When a comparison last showed no foreign sample.
    var vanishedAt: Instant? {
        switch self {
        case .shown: nil
        case .vanished(let time), .vanishedAgain(let time): time
        }
    }

    /// Whether reading was probably revoked.
    var isRevoked: Bool { if case .vanishedAgain = self { true } else { false } }

    /// Notes a look at the peer, which has shown a foreign sample or none.
    mutating func look(at time: Instant, hasVanished: Bool) {
        self =
            switch (self, hasVanished) {
            case (_, false): .shown
            case (.shown, true): .vanished(at: time)
            case (.vanished, true), (.vanishedAgain, true): .vanishedAgain(at: time)
            }
    }
}
