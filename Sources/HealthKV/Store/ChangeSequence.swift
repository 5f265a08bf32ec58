import HealthModel

/// The changes of a store as this process or another commits them.
///
/// ```swift
/// for await change in store.changes(of: [.bodyMass]) {
///     if case .saved(let sample) = change.kind { show(sample) }
/// }
/// ```
///
/// The sequence keeps a token, not a queue: a slow consumer costs no memory and misses nothing. It ends when the store
/// is closed or the task is cancelled. The reads run on the store's threads for reading.
public struct ChangeSequence: AsyncSequence, Sendable {
    public typealias Element = Change
    public typealias Failure = Never

    let store: SampleStore
    let types: Set<SampleType>?
    /// The position at which the sequence begins, or the error of determining it.
    let start: Result<ChangeToken, any Error>

    public func makeAsyncIterator() -> Iterator { Iterator(store: store, types: types, start: start) }

    public struct Iterator: AsyncIteratorProtocol {
        let store: SampleStore
        let types: Set<SampleType>?
        private var place: Result<ChangeToken, any Error>
        private var buffer: ArraySlice<Change> = []
        private var hasEnded = false

        init(store: SampleStore, types: Set<SampleType>?, start: Result<ChangeToken, any Error>) {
            self.store = store
            self.types = types
            place = start
        }

        public mutating func next() async -> Change? {
            await next(isolation: nil)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Change? {
            while buffer.isEmpty {
                if hasEnded || Task.isCancelled { return nil }
                let generation = store.core.observers.generation
                var seen: UInt64 = 0
                do {
                    let (from, types) = (try place.get(), types)
                    let (page, commit) = try await store.readAside { transaction in
                        let commit = transaction.context.state.header.commit
                        return (try transaction.changes(since: from, limit: 256, of: types), commit)
                    }
                    seen = commit
                    place = .success(page.next)
                    buffer = page.changes[...]
                    if !buffer.isEmpty || page.hasMore { continue }
                } catch is CancellationError {
                    return nil
                } catch let error as StoreError where error.code == .closed {
                    return nil
                } catch let error as StoreError where error.code == .suspended {
                    // The sequence continues when the store resumes.
                    seen = .max
                } catch {
                    hasEnded = true
                    // There is no position to continue from: this token belongs to no store, so every store refuses it.
                    let nowhere = ChangeToken(store: .zero, epoch: 0, commit: 0, ordinal: 0, mark: 0)
                    return Change(kind: .interrupted("\(error)"), token: (try? place.get()) ?? nowhere)
                }
                guard await store.core.waitForCommit(after: generation, seen: seen) else { return nil }
            }
            return buffer.removeFirst()
        }
    }
}
