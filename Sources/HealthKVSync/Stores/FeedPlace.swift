import HealthKV

/// A place in a store's feed: behind a change, or midway in what a mass operation deleted, which may be more than a page holds.
struct FeedPlace: Sendable, Hashable, Codable {
    /// Behind this change.
    var token: ChangeToken
    /// The change is a mass operation, and of what it deleted all up to this id was told; `nil` where nothing is left to tell.
    var deleted: SampleID?
}

// The form in which a peer's place is kept.
extension FeedPlace {
    private static let mark: Character = "+"

    init?(_ bytes: [UInt8]) {
        let parts = String(decoding: bytes, as: UTF8.self).split(
            separator: FeedPlace.mark, omittingEmptySubsequences: false)
        guard parts.count <= 2, let token = ChangeToken(String(parts[0])) else { return nil }
        self.init(token: token)
        guard parts.count == 2 else { return }
        guard let id = SampleID(String(parts[1])) else { return nil }
        deleted = id
    }

    var bytes: [UInt8] {
        let text = token.description
        return Array((deleted.map { "\(text)\(FeedPlace.mark)\($0)" } ?? text).utf8)
    }
}
