import ColumnFormat
import HealthModel

/// The samples of a query, page by page, for histories that should not be held in memory at once.
///
/// ```swift
/// for try await page in store.pages(SampleQuery(.stepCount), size: 10_000) {
///     upload(page)
/// }
/// ```
///
/// Each page is a snapshot of its own: a sample that is written while the stream runs appears if its position is still
/// ahead.
public struct SamplePages: AsyncSequence, Sendable {
    public typealias Element = [Sample]

    let store: SampleStore
    let query: SampleQuery
    let size: Int
    let onDamage: (@Sendable (DamagedRange) -> Void)?

    public func makeAsyncIterator() -> Iterator {
        Iterator(store: store, query: query, size: size, onDamage: onDamage)
    }

    public struct Iterator: AsyncIteratorProtocol {
        let store: SampleStore
        let query: SampleQuery
        let size: Int
        let onDamage: (@Sendable (DamagedRange) -> Void)?
        private var last: SamplePlace?
        private var hasEnded = false
        private var delivered = 0
        /// The ranges that were already reported; the next page may find them again.
        private var damage: Set<DamagedRange> = []

        init(
            store: SampleStore, query: SampleQuery, size: Int, onDamage: (@Sendable (DamagedRange) -> Void)?
        ) {
            self.onDamage = onDamage
            self.store = store
            self.query = query
            self.size = size
        }

        public mutating func next() async throws -> [Sample]? {
            try await next(isolation: nil)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> [Sample]? {
            if hasEnded { return nil }
            try Task.checkCancellation()
            let (query, last, skips) = (query, last, onDamage != nil)
            // No page is longer than what the limit leaves.
            let wanted = Swift.min(size, (query.limit ?? .max) - delivered)
            let (samples, point, damage) = try await store.readAside { txn in
                let log = skips ? DamageLog() : nil
                let (samples, point) = try QueryRows.page(
                    query, size: wanted, behind: last, log, in: txn.snapshot)
                return (samples, point, log?.ranges(of: query.type) ?? [])
            }
            for range in damage where self.damage.insert(range).inserted { onDamage?(range) }
            self.last = point ?? last
            delivered += samples.count
            hasEnded = samples.count < size || delivered == query.limit
            return samples.isEmpty ? nil : samples
        }
    }
}
