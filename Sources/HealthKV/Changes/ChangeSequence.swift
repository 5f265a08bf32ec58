import HealthModel

/// The changes of a store as they are committed by this process.
///
/// ```swift
/// for await change in store.changes(of: [.bodyMass]) {
///     if case .saved(let sample) = change.kind { show(sample) }
/// }
/// ```
///
/// It keeps a token, not a queue: a slow consumer costs no memory and misses nothing. It ends when the store is closed
/// or the task is cancelled.
public struct ChangeSequence: AsyncSequence, Sendable {
    public typealias Element = Change
    public typealias Failure = Never

    let store: SampleStore
    let types: Set<SampleType>?
    let start: ChangeToken?

    public func makeAsyncIterator() -> Iterator { Iterator(store: store, types: types, token: start) }

    public struct Iterator: AsyncIteratorProtocol {
        let store: SampleStore
        let types: Set<SampleType>?
        var token: ChangeToken?
        private var buffer: ArraySlice<Change> = []
        private var hasEnded = false

        init(store: SampleStore, types: Set<SampleType>?, token: ChangeToken?) {
            self.store = store
            self.types = types
            self.token = token
        }

        public mutating func next() async -> Change? {
            await next(isolation: nil)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Change? {
            while buffer.isEmpty {
                if hasEnded || Task.isCancelled { return nil }
                let generation = store.core.observers.generation
                do {
                    let (from, types) = (token, types)
                    let page = try store.read { try $0.changes(since: from, limit: 256, of: types) }
                    token = page.next
                    buffer = page.changes[...]
                    if !buffer.isEmpty || page.hasMore { continue }
                } catch let error as StoreError where error.code == .closed {
                    return nil
                } catch {
                    hasEnded = true
                    guard let token else { return nil }
                    return Change(kind: .interrupted("\(error)"), token: token)
                }
                guard await store.core.observers.wait(after: generation) else { return nil }
            }
            return buffer.removeFirst()
        }
    }
}

extension SampleStore {
    /// The changes that this process commits from now on, or from a token on; all types, or some.
    public func changes(of types: Set<SampleType>? = nil, since token: ChangeToken? = nil) -> ChangeSequence {
        ChangeSequence(store: self, types: types, start: token ?? (try? read { $0.currentToken }))
    }
}
