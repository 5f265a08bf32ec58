import HealthModel
import LMDB

/// Wakes those who wait for changes when another process commits. Whether there is anything new, only the commit counter
/// of a fresh snapshot tells; the system's watch of the file merely says when to look. No snapshot is kept while waiting.
final class CommitWatcher: Sendable {
    private struct State {
        /// By ticket of someone who waits: the last commit that was seen there.
        var waiting: [UInt64: UInt64] = [:]
        var nextTicket: UInt64 = 0
        /// How many callers wait for the thread to end. Whoever begins to wait meanwhile must not keep it alive.
        var stops = 0
        var thread: WriterThread?
        var watch: FileWatch?
    }

    private let state = Monitor(State())
    /// Where the system has no watch to give, or loses an event.
    private static let fallbackMilliseconds = 2_000

    /// Counts in someone who waits and has seen all commits up to `seen`, and answers a ticket for ``leave(_:)``. The first one
    /// starts the watch.
    func enter(_ folder: String, seen: UInt64, _ watch: @escaping @Sendable () -> Void) -> UInt64 {
        let (ticket, thread): (UInt64, WriterThread?) = state.withLock { state in
            state.nextTicket += 1
            state.waiting[state.nextTicket] = seen
            // The thread may sleep over a commit between the caller's look and now.
            state.watch?.wake()
            guard state.thread == nil else { return (state.nextTicket, nil) }
            state.watch = FileWatch(folder: folder)
            state.thread = WriterThread(name: "healthkv watch", idlePeriod: .zero)
            return (state.nextTicket, state.thread)
        }
        thread?.perform(watch)
        return ticket
    }

    /// Counts out who has a ticket.
    func leave(_ ticket: UInt64) {
        state.withLock { state in
            state.waiting[ticket] = nil
            if state.waiting.isEmpty { state.watch?.wake() }
        }
    }

    /// Answers whether a commit is news to anybody who waits.
    func takeNews(_ commit: UInt64) -> Bool {
        state.withLock { state in
            guard let seen = state.waiting.values.min(), commit > seen else { return false }
            for ticket in state.waiting.keys { state.waiting[ticket] = .max }
            return true
        }
    }

    /// Rests until there may be news; answers false, and forgets the thread, when nobody waits any more or the watch is to end.
    func rest() -> Bool {
        let watch: FileWatch?? = state.withLock { state in
            if !state.waiting.isEmpty, state.stops == 0 { return state.watch }
            (state.thread, state.watch) = (nil, nil)
            return nil
        }
        guard let watch else { return false }
        if let watch {
            watch.wait(milliseconds: CommitWatcher.fallbackMilliseconds)
        } else {
            pause(milliseconds: 100)
        }
        return true
    }

    /// Whether a thread looks for commits.
    var isWatching: Bool { state.withLock { $0.thread != nil } }

    /// Ends the watch, whoever waits. Who waits on is counted until it leaves; the next one to enter starts the watch again.
    func stop() {
        let thread = state.withLock { state in
            state.stops += 1
            state.watch?.wake()
            return state.thread
        }
        thread?.stop()
        state.withLock { state in
            state.stops -= 1
            // A thread that had not begun never comes to rest.
            if let thread, state.thread === thread { (state.thread, state.watch) = (nil, nil) }
        }
    }
}

extension StoreCore {
    /// Waits until there is a commit beyond those that the caller has seen: `generation` counts those of this process,
    /// `seen` is the counter of the snapshot that was read. Answers false when the store is closed or the task cancelled.
    func waitForCommit(after generation: UInt64, seen: UInt64) async -> Bool {
        let ticket = watcher.enter(path, seen: seen) { [weak self] in
            self?.lookForCommits()
            while let self, watcher.rest() { lookForCommits() }
        }
        defer { watcher.leave(ticket) }
        return await observers.wait(after: generation)
    }

    private func lookForCommits() {
        guard let commit = try? read({ $0.context.header.commit }) else { return }
        if watcher.takeNews(commit) { observers.notify() }
    }
}
