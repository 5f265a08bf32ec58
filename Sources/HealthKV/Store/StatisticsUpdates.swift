import ColumnFormat
import HealthModel
import LMDB

/// A sequence of statistics that yields a new answer whenever a write has changed them.
///
/// ```swift
/// let query = StatisticsQuery(.stepCount, by: .day, from: a, to: b, calendar: calendar)
/// for try await days in store.statisticsUpdates(query) { print(days.last?.sum ?? 0) }
/// ```
///
/// The first answer comes immediately. After a commit the answer is recomputed only if the commit affected the query's
/// type and range, and yielded only if it differs. A slow consumer misses intermediate answers, but never the last one.
public struct StatisticsUpdates: AsyncSequence, Sendable {
    public typealias Element = StatisticsCollection

    let store: SampleStore
    let query: StatisticsQuery

    public func makeAsyncIterator() -> Iterator { Iterator(store: store, query: query) }

    public struct Iterator: AsyncIteratorProtocol {
        let store: SampleStore
        let query: StatisticsQuery
        private var token: ChangeToken?
        private var order: [RankedSource] = []
        private var shadowing: [UInt32: Bool] = [:]
        private var definitions: UInt64 = 0
        private var last: StatisticsCollection?

        init(store: SampleStore, query: StatisticsQuery) {
            self.store = store
            self.query = query
        }

        public mutating func next() async throws -> StatisticsCollection? {
            while true {
                try Task.checkCancellation()
                let generation = store.core.observers.generation
                var seen: UInt64 = 0
                do {
                    if let changed = try look(&seen) { return changed }
                } catch let error as StoreError where error.code == .closed {
                    return nil
                } catch let error as StoreError where error.code == .suspended {
                    // Continue when the store resumes.
                    seen = .max
                }
                guard await store.core.waitForCommit(after: generation, seen: seen) else { return nil }
            }
        }

        /// The result of one read of the store.
        private struct Look {
            var answer: StatisticsCollection?
            var token: ChangeToken
            var order: [RankedSource]
            var shadowing: [UInt32: Bool]
            var definitions: UInt64
        }

        /// Reads the store and returns the answer if it has changed. Sets `seen` to the commit that was read.
        private mutating func look(_ seen: inout UInt64) throws -> StatisticsCollection? {
            let (query, token, order, shadowing, last) = (query, token, order, shadowing, last)
            let definitions = definitions
            let found = try store.blockingRead { txn in
                let snapshot = txn.snapshot
                var look = Look(
                    token: ChangeLog.currentToken(in: snapshot), order: try txn.rankedSources(of: query.type),
                    shadowing: snapshot.header.shadowing, definitions: snapshot.header.definitions)
                let isAsBefore =
                    look.order == order && look.shadowing == shadowing && look.definitions == definitions && last != nil
                let ranges = [query.type: query.touchedRange]
                // A commit of any type may give a source another name.
                let isByName = query.sources?.contains { $0.bundle.isEmpty } ?? false || query.filter != nil
                // Totals change without a sample, and so do the links that tell what is in them.
                let isOfTotals = (query.options as? CumulativeOptions)?.sources == .authoritative
                if let token, isAsBefore, !isByName, !isOfTotals,
                    try !TouchingChanges.touch(ranges, since: token, in: snapshot)
                {
                    return look
                }
                look.answer = try txn.statistics(query)
                return look
            }
            (self.token, self.order, self.shadowing) = (found.token, found.order, found.shadowing)
            self.definitions = found.definitions
            seen = found.token.commit
            guard let answer = found.answer, last.map({ !answer.isSame(as: $0) }) ?? true else { return nil }
            self.last = answer
            return answer
        }
    }
}

extension StatisticsCollection {
    func isSame(as other: StatisticsCollection) -> Bool {
        borders.instants == other.borders.instants && cells.elementsEqual(other.cells) { $0.isSame(as: $1) }
            && means?.map(\.bitPattern) == other.means?.map(\.bitPattern) && unit == other.unit
            && totals == other.totals
    }
}
