import HealthModel
import LMDB

/// The answers of a read, told again whenever a commit has changed what it read.
///
/// ```swift
/// for try await weights in store.values({ try $0.samples(of: .bodyMass, order: .descending, limit: 10) }) {
///     print(weights.count)
/// }
/// ```
///
/// The first answer comes at once. The store notes the types and ranges of time that the read touches, and reads again
/// only after a commit, of this process or another, that changed samples there. A read that touches anything else, such
/// as a peer's queue, is repeated after every commit. A slow consumer misses answers between, but never the last one,
/// and while nothing is committed no read runs and no snapshot is kept.
///
/// The reads run on the store's threads for reading. The sequence ends when the store is closed, and throws if a read
/// does or if the task is cancelled.
public struct StoreValues<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value
    public typealias Failure = any Error

    let store: SampleStore
    let read: @Sendable (borrowing ReadTransaction) throws -> Value

    public func makeAsyncIterator() -> Iterator { Iterator(store: store, read: read) }

    public struct Iterator: AsyncIteratorProtocol {
        let store: SampleStore
        let read: @Sendable (borrowing ReadTransaction) throws -> Value
        private var before: TracedRead?

        init(store: SampleStore, read: @escaping @Sendable (borrowing ReadTransaction) throws -> Value) {
            self.store = store
            self.read = read
        }

        public mutating func next() async throws -> Value? {
            try await next(isolation: nil)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? {
            while true {
                try Task.checkCancellation()
                let generation = store.core.observers.generation
                var seen: UInt64 = 0
                do {
                    let (value, trace) = try await Iterator.look(store, before, read)
                    before = trace
                    seen = trace.token.commit
                    if let value { return value }
                } catch let error as StoreError where error.code == .closed {
                    return nil
                } catch let error as StoreError where error.code == .suspended {
                    // The sequence continues when the store resumes.
                    seen = .max
                }
                guard await store.core.waitForCommit(after: generation, seen: seen) else {
                    try Task.checkCancellation()
                    return nil
                }
            }
        }

        /// Reads if anything changed in what the read before touched.
        private static func look(
            _ store: SampleStore, _ before: TracedRead?,
            _ read: @escaping @Sendable (borrowing ReadTransaction) throws -> Value
        ) async throws -> (Value?, TracedRead) {
            return try await store.readAside { transaction in
                if let before, try !before.isOutdated(in: transaction.snapshot) {
                    return (nil, try before.confirmed(in: transaction.snapshot))
                }
                let trace = ReadTrace()
                transaction.context.trace = trace
                let value = try read(transaction)
                transaction.context.trace = nil
                // A read within the read has a context of its own.
                if transaction.context.ticket?.hasNested ?? false { trace.seesEverything() }
                return (value, try TracedRead(trace, in: transaction.snapshot))
            }
        }
    }
}

/// What a read touched, and when.
private struct TracedRead: Sendable {
    private(set) var token: ChangeToken
    /// `nil` if the read may have touched anything.
    private let ranges: [SampleType: TimeRange]?
    private let shadowing: [UInt32: Bool]
    private let definitions: UInt64
    /// The order of sources decides which sample of a time is shown, and what sums count.
    private let orders: [SampleType: [UInt64]]

    init(_ trace: ReadTrace, in snapshot: Snapshot) throws {
        token = ChangeLog.currentToken(in: snapshot)
        // A read that touches nothing may have got its answer from elsewhere.
        ranges = trace.isOfEverything || trace.ranges.isEmpty ? nil : trace.ranges
        (shadowing, definitions) = (snapshot.header.shadowing, snapshot.header.definitions)
        orders = try TracedRead.orders(of: trace.ranges.keys, in: snapshot)
    }

    private static func orders(
        of types: some Sequence<SampleType>, in snapshot: Snapshot
    ) throws -> [SampleType: [UInt64]] {
        var orders: [SampleType: [UInt64]] = [:]
        for type in types {
            guard let number = try NameTable.number(of: type, in: snapshot) else { continue }
            orders[type] = try SourceRanking.ranking(of: number, in: snapshot).classes.map {
                UInt64($0.source) << 1 | ($0.isUserEntered ? 1 : 0)
            }
        }
        return orders
    }

    /// Whether a commit since then may have changed the answer.
    func isOutdated(in snapshot: Snapshot) throws -> Bool {
        let now = ChangeLog.currentToken(in: snapshot)
        if now == token { return false }
        guard let ranges, shadowing == snapshot.header.shadowing, definitions == snapshot.header.definitions,
            try orders == TracedRead.orders(of: ranges.keys, in: snapshot)
        else { return true }
        return try TouchingChanges.touch(ranges, since: token, in: snapshot)
    }

    /// The same read, known to be true of a later snapshot.
    func confirmed(in snapshot: Snapshot) throws -> TracedRead {
        var read = self
        read.token = ChangeLog.currentToken(in: snapshot)
        return read
    }
}

extension SampleStore {
    /// Returns the answers of a read: the first at once, and another whenever a commit of this process or another has
    /// changed what the read touches.
    ///
    /// ```swift
    /// for try await latest in store.values({ try $0.latest(of: .bodyMass) }) { print(latest?.start ?? "none") }
    /// ```
    public func values<Value: Sendable>(
        _ read: @escaping @Sendable (borrowing ReadTransaction) throws -> Value
    ) -> StoreValues<Value> {
        StoreValues(store: self, read: read)
    }
}
