import LMDB
import Synchronization

/// The threads of this process that are reading. They are few, so a search costs less than a hash.
struct ReaderTable {
    struct Entry {
        let thread: ThreadIdentity
        let ticket: ReadTicket
        /// How deeply the thread's reads are nested.
        var depth: Int
    }

    private(set) var entries: [Entry] = []
    /// Set while the map is being replaced: new readers wait.
    var isHeld = false

    var isEmpty: Bool { entries.isEmpty }

    private func index(of thread: ThreadIdentity) -> Int? { entries.firstIndex { $0.thread == thread } }

    func isInside(_ thread: ThreadIdentity) -> Bool { index(of: thread) != nil }

    func depth(_ thread: ThreadIdentity) -> Int { index(of: thread).map { entries[$0].depth } ?? 0 }

    /// Registers a reader. A nested read shares the ticket of the outer one.
    mutating func enter(
        _ thread: ThreadIdentity, _ limit: Duration?, _ cancellation: ReadCancellation? = nil
    ) -> ReadTicket {
        if let known = index(of: thread) {
            entries[known].depth += 1
            entries[known].ticket.noteNested()
            return entries[known].ticket
        }
        let ticket = ReadTicket(limit: limit, cancellation)
        entries.append(Entry(thread: thread, ticket: ticket, depth: 1))
        return ticket
    }

    mutating func leave(_ thread: ThreadIdentity) {
        guard let known = index(of: thread) else { return }
        entries[known].depth -= 1
        guard entries[known].depth == 0 else { return }
        entries.swapAt(known, entries.count - 1)
        entries.removeLast()
    }
}

/// One read: when it began, how long it may last, whether its length was reported.
final class ReadTicket: Sendable {
    let began = ContinuousClock.now
    private let deadline: ContinuousClock.Instant?
    private let isReported = Atomic<Bool>(false)
    private let cancellation: ReadCancellation?

    init(limit: Duration?, _ cancellation: ReadCancellation?) {
        deadline = limit.map { [began] in began + $0 }
        self.cancellation = cancellation
    }

    /// Whether the task that waits for the read was cancelled.
    var isCancelled: Bool { cancellation?.isCancelled ?? false }

    var age: Duration { began.duration(to: .now) }

    /// Whether the read has passed its deadline.
    var isExpired: Bool { deadline.map { $0 < ContinuousClock.now } ?? false }

    private let nested = Atomic<Bool>(false)

    /// Whether another read began inside of this one.
    var hasNested: Bool { nested.load(ordering: .relaxed) }

    func noteNested() { nested.store(true, ordering: .relaxed) }

    /// Returns `true` the first time, then `false`.
    func takeReport() -> Bool { !isReported.exchange(true, ordering: .relaxed) }
}

/// Whether a read should end early. The task that waits for it sets it, the thread that reads looks at it.
final class ReadCancellation: Sendable {
    private let isSet = Atomic<Bool>(false)

    var isCancelled: Bool { isSet.load(ordering: .relaxed) }

    func cancel() { isSet.store(true, ordering: .relaxed) }
}
