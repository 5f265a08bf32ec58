import HealthKV

/// Finds feeds and enumerations that go round in a circle: each page must lead to a place that was not seen before, and
/// pages without content must come to an end.
struct FeedProgress: Sendable {
    /// Pages in a row that may be without content: a peer may have to look through much that is not asked for.
    static let emptyLimit = 1_000

    private struct Reading {
        var last: [UInt8]
        /// Hashes of the places that were given since the reading began.
        var seen: Set<Int> = []
        var empty = 0
    }

    private var readings: [String: Reading] = [:]

    /// Notes a page of a feed or window that leads from one place to another; the end of it has none. Throws when that is no
    /// progress.
    mutating func note(
        _ feed: String, from place: [UInt8]?, to next: [UInt8]?, isEmpty: Bool
    ) throws(PeerError) {
        guard let next else { return readings[feed] = nil }
        if next == place { throw PeerError(.badAnswer, "more is left, and the place did not move") }
        // What begins at the beginning, or at a place that was kept, has seen nothing yet.
        var reading = Reading(last: next)
        if let place, let known = readings[feed], known.last == place { reading = known }
        let isNew = reading.seen.insert(next.hashValue).inserted
        reading.last = next
        reading.empty = isEmpty ? reading.empty + 1 : 0
        readings[feed] = isNew && reading.empty < FeedProgress.emptyLimit ? reading : nil
        if !isNew { throw PeerError(.badAnswer, "the place went round in a circle") }
        if reading.empty >= FeedProgress.emptyLimit {
            throw PeerError(.badAnswer, "\(FeedProgress.emptyLimit) pages in a row had no content, and more is left")
        }
    }
}
