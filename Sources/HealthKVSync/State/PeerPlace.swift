import HealthKV

/// A place in a store's feed: after a change, or midway in the deletions of a mass operation, which may be more than a
/// page holds.
struct PeerPlace: Sendable, Hashable, Codable {
    /// The change that the place is after.
    var token: ChangeToken
    /// If the change is a mass operation, the last id up to which its deletions were reported; `nil` if all were.
    var deleted: SampleID?
}

// The form in which a peer's place is stored.
extension PeerPlace {
    private static let mark: Character = "+"

    init?(_ bytes: [UInt8]) {
        let parts = String(decoding: bytes, as: UTF8.self).split(
            separator: PeerPlace.mark, omittingEmptySubsequences: false)
        guard parts.count <= 2, let token = ChangeToken(String(parts[0])) else { return nil }
        self.init(token: token)
        guard parts.count == 2 else { return }
        guard let id = SampleID(String(parts[1])) else { return nil }
        deleted = id
    }

    var bytes: [UInt8] {
        let text = token.description
        return Array((deleted.map { "\(text)\(PeerPlace.mark)\($0)" } ?? text).utf8)
    }
}
