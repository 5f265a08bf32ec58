import ColumnFormat
import HealthModel

/// The samples of a range, page by page, for histories that should not be held in memory at once.
///
/// ```swift
/// for try await page in store.pages(of: .stepCount, size: 10_000) {
///     upload(page)
/// }
/// ```
///
/// Each page is a snapshot of its own: a sample that is written while the stream runs appears if its position is still
/// ahead.
public struct SamplePages: AsyncSequence, Sendable {
    public typealias Element = [Sample]

    let store: SampleStore
    let type: SampleType
    let query: SampleQuery
    let size: Int
    let onDamage: (@Sendable (DamagedRange) -> Void)?

    public func makeAsyncIterator() -> Iterator {
        Iterator(store: store, type: type, query: query, size: size, onDamage: onDamage)
    }

    public struct Iterator: AsyncIteratorProtocol {
        let store: SampleStore
        let type: SampleType
        let query: SampleQuery
        let size: Int
        let onDamage: (@Sendable (DamagedRange) -> Void)?
        private var last: Point?
        private var hasEnded = false
        /// The ranges that were already reported; the next page may find them again.
        private var damage: Set<DamagedRange> = []

        init(
            store: SampleStore, type: SampleType, query: SampleQuery, size: Int,
            onDamage: (@Sendable (DamagedRange) -> Void)?
        ) {
            self.onDamage = onDamage
            self.store = store
            self.type = type
            self.query = query
            self.size = size
        }

        public mutating func next() async throws -> [Sample]? {
            if hasEnded { return nil }
            try Task.checkCancellation()
            let (type, query, size, last, skips) = (type, query, size, last, onDamage != nil)
            let (samples, point, damage) = try store.read { txn in
                let log = skips ? DamageLog() : nil
                let (samples, point) = try SamplePages.page(
                    of: type, query, size: size, behind: last, log, in: txn.snapshot)
                return (samples, point, log?.ranges(of: type) ?? [])
            }
            for range in damage where self.damage.insert(range).inserted { onDamage?(range) }
            self.last = point ?? last
            hasEnded = samples.count < size
            return samples.isEmpty ? nil : samples
        }
    }
}

extension SamplePages {
    /// Returns one page after a point, and the point of its last sample.
    static func page(
        of type: SampleType, _ query: SampleQuery, size: Int, behind last: Point?, _ log: DamageLog? = nil,
        in snapshot: Snapshot
    ) throws -> ([Sample], Point?) {
        guard let number = try NameTable.askedNumber(of: type, in: snapshot) else { return ([], nil) }
        var samples: [Sample] = []
        var point: Point?
        var query = query
        query.resume = last
        try RowReader.forEachRow(of: number, query, skippingDamage: log, in: snapshot) { row in
            if let last, query.order == .ascending ? row.point <= last : row.point >= last { return true }
            samples.append(try NameTable.sample(row, number, in: snapshot))
            point = row.point
            return samples.count < size
        }
        return (samples, point)
    }
}

extension SampleStore {
    /// Returns a stream of pages of a type's samples in a range.
    ///
    /// - Parameters:
    ///   - type: the type of the samples.
    ///   - from: the start of the range, inclusive.
    ///   - to: the end of the range, exclusive.
    ///   - rule: by default every sample that overlaps the range, including long ones that began before it.
    ///   - order: whether the earliest or the latest sample comes first.
    ///   - source: return only samples of this source; `nil` for all.
    ///   - includeShadowed: also return samples that lost against another at exactly the same time.
    ///   - size: the maximum number of samples in a page, at least 1.
    ///   - onDamage: if given, damaged chunks are skipped, and it is called with each range of time in which samples
    ///     may therefore be missing.
    public func pages(
        of type: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture, rule: RangeRule = .overlap,
        order: SampleOrder = .ascending, source: SourceIdentity? = nil, includeShadowed: Bool = false,
        size: Int = 1_000,
        onDamage: (@Sendable (DamagedRange) -> Void)? = nil
    ) -> SamplePages {
        precondition(size > 0, "a page has at least one sample")
        let query = SampleQuery(
            range: TimeRange(from: from, to: to), rule: rule, order: order, source: source,
            includeShadowed: includeShadowed)
        return SamplePages(store: self, type: type, query: query, size: size, onDamage: onDamage)
    }
}
