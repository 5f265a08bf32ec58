import HealthKV

/// Detects feeds and enumerations that loop: each page must lead to a place that was not seen before, and a run of
/// empty pages must end.
struct FeedProgress: Sendable {
    /// The maximum number of empty pages in a row. A peer may have to scan much data that was not requested.
    static let emptyLimit = 1_000

    private struct Reading {
        var last: [UInt8]
        /// Hashes of the places that were returned since the reading began.
        var seen: Set<Int> = []
        var empty = 0
    }

    private var readings: [String: Reading] = [:]

    /// Notes a page of a feed or window that leads from one place to the next; the last page has no next place. Throws
    /// if the page makes no progress.
    mutating func note(
        _ feed: String, from place: [UInt8]?, to next: [UInt8]?, isEmpty: Bool
    ) throws(PeerError) {
        guard let next else { return readings[feed] = nil }
        if next == place { throw PeerError(.badAnswer, "more is left, and the place did not move") }
        // A reading that begins at the beginning, or at a stored place, has seen no place yet.
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
