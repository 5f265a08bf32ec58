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
        private var known: State?
        private var last: StatisticsCollection?

        init(store: SampleStore, query: StatisticsQuery) {
            self.store = store
            self.query = query
        }

        public mutating func next() async throws -> StatisticsCollection? {
            try await next(isolation: nil)
        }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(any Error) -> StatisticsCollection? {
            while true {
                try Task.checkCancellation()
                let generation = store.core.observers.generation
                var seen: UInt64 = 0
                do {
                    let (state, answer) = try await Iterator.look(store, query, behind: known)
                    (known, seen) = (state, state.token.commit)
                    if let answer, last.map({ !answer.isSame(as: $0) }) ?? true {
                        last = answer
                        return answer
                    }
                } catch let error as StoreError where error.code == .closed {
                    return nil
                } catch let error as StoreError where error.code == .suspended {
                    // Continue when the store resumes.
                    seen = .max
                }
                guard await store.core.waitForCommit(after: generation, seen: seen) else { return nil }
            }
        }

        /// What an answer depends on beside the samples of its range.
        private struct State: Sendable {
            var token: ChangeToken
            var order: [RankedSource]
            var shadowing: [UInt32: Bool]
            var definitions: UInt64

            init(of type: SampleType, in txn: borrowing ReadTransaction) throws {
                token = ChangeLog.currentToken(in: txn.snapshot)
                order = try txn.rankedSources(of: type)
                (shadowing, definitions) = (txn.snapshot.header.shadowing, txn.snapshot.header.definitions)
            }

            /// Whether only samples may have changed since.
            func isLike(_ other: State) -> Bool {
                order == other.order && shadowing == other.shadowing && definitions == other.definitions
            }
        }

        /// Reads the store; there is no answer if nothing has changed that it depends on.
        private static func look(
            _ store: SampleStore, _ query: StatisticsQuery, behind known: State?
        ) async throws -> (state: State, answer: StatisticsCollection?) {
            try await store.readAside { txn in
                let state = try State(of: query.type, in: txn)
                // A commit of any type may give a source another name.
                let isByName = query.sources?.contains { $0.bundle.isEmpty } ?? false || query.filter != nil
                // Totals change without a sample, and so do the links that tell what is in them.
                let isOfTotals = (query.options as? CumulativeOptions)?.sources == .authoritative
                let ranges = [query.type: query.touchedRange]
                if let known, known.isLike(state), !isByName, !isOfTotals,
                    try !TouchingChanges.touch(ranges, since: known.token, in: txn.snapshot)
                {
                    return (state, nil)
                }
                return (state, try txn.statistics(query))
            }
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
