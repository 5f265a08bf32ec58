#if canImport(Observation)
    import HealthModel
    import LMDB
    import Observation

    /// The answer of a read as an observable object, for views: the read runs again after a commit of this process or
    /// another has changed what it read (see ``SampleStore/values(_:)``).
    ///
    /// ```swift
    /// import Foundation
    /// import HealthKV
    ///
    /// let weights = await StoreQuery(store, SampleQuery(.bodyMass, order: .descending, limit: 30))
    /// let midnight = calendar.startOfDay(for: Date.now)
    /// let steps = await StoreQuery(store) { try $0.statistics(of: .stepCount, in: midnight...).sum ?? 0 }
    /// await print(weights.value?.count ?? 0, steps.value ?? 0)
    /// ```
    ///
    /// It reads aside, and never on the main actor. It stops when it is released.
    @MainActor @Observable
    public final class StoreQuery<Value: Sendable> {
        /// The last answer; `nil` until the first one has come.
        public private(set) var value: Value?
        /// Why it no longer follows the store: the read threw this. `nil` while all is well, and after the store was
        /// closed.
        public private(set) var error: (any Error)?

        @ObservationIgnored private let store: SampleStore
        @ObservationIgnored private let read: @Sendable (borrowing ReadTransaction) throws -> Value
        @ObservationIgnored private let work = StoreQueryWork()

        /// Follows a read.
        public convenience init(
            _ store: SampleStore, _ read: @escaping @Sendable (borrowing ReadTransaction) throws -> Value
        ) {
            self.init(idle: store, read)
            start()
        }

        /// Creates a query that does nothing until it is started.
        init(idle store: SampleStore, _ read: @escaping @Sendable (borrowing ReadTransaction) throws -> Value) {
            self.store = store
            self.read = read
        }

        /// Begins to follow the store, unless it ever did.
        func startOnce() { if !work.hasBegun { start() } }

        /// Begins to follow the store, unless it does already. After an error, call it to try again.
        public func start() {
            guard work.isEnded else { return }
            if error != nil { error = nil }
            let values = store.values(read)
            work.begin(
                Task { [weak self] in
                    do {
                        for try await value in values { self?.value = value }
                    } catch is CancellationError {
                    } catch {
                        self?.error = error
                    }
                    self?.work.end()
                })
        }
    }

    /// The task of a query. It is cancelled when the query is released.
    @MainActor
    private final class StoreQueryWork {
        private let task = StoreQueryTask()
        private(set) var isEnded = true
        private(set) var hasBegun = false

        func begin(_ new: Task<Void, Never>) {
            (isEnded, hasBegun) = (false, true)
            task.replace(by: new)
        }

        func end() { isEnded = true }
    }

    private final class StoreQueryTask: Sendable {
        private let task = Monitor<Task<Void, Never>?>(nil)

        func replace(by new: Task<Void, Never>) { task.withLock { $0 = new } }

        deinit { task.withLock { $0?.cancel() } }
    }

    extension StoreQuery where Value == [Sample] {
        /// Follows the samples of a query.
        public convenience init(_ store: SampleStore, _ query: SampleQuery) {
            self.init(store) { try $0.samples(query) }
        }
    }

    extension StoreQuery where Value == StatisticsCollection {
        /// Follows statistics.
        public convenience init(_ store: SampleStore, _ query: StatisticsQuery) {
            self.init(store) { try $0.statistics(query) }
        }
    }

    extension StoreQuery where Value == Sample? {
        /// Follows the latest sample of a type.
        public convenience init(_ store: SampleStore, latestOf type: SampleType) {
            self.init(store) { try $0.latest(of: type) }
        }
    }

    #if canImport(SwiftUI)
        import SwiftUI

        /// The answer of a read in a SwiftUI view, which is drawn again when the answer changes. The read is that of
        /// the first appearance: give the view another `id` where it should read something else.
        ///
        /// ```
        /// struct Weights: View {
        ///     @StoreValue var weights: [Sample]?
        ///
        ///     init(_ store: SampleStore) { _weights = StoreValue(store) { try $0.samples(of: .bodyMass) } }
        ///
        ///     var body: some View { Text("\(weights?.count ?? 0)") }
        /// }
        /// ```
        @MainActor @propertyWrapper
        public struct StoreValue<Value: Sendable>: @preconcurrency DynamicProperty {
            @State private var query: StoreQuery<Value>

            /// Follows a read of a store.
            public init(
                _ store: SampleStore, _ read: @escaping @Sendable (borrowing ReadTransaction) throws -> Value
            ) {
                // A view is created more often than it appears: only the query that SwiftUI keeps is started.
                _query = State(wrappedValue: StoreQuery(idle: store, read))
            }

            /// The last answer; `nil` until the first one has come.
            public var wrappedValue: Value? { query.value }
            /// The query itself, with its error.
            public var projectedValue: StoreQuery<Value> { query }

            /// Starts the query when the view appears. After an error, `start()` of the query tries again.
            public mutating func update() { query.startOnce() }
        }
    #endif
#endif
