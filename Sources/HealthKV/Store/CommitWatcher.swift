import HealthModel
import LMDB

/// Wakes those who wait for changes when another process commits. Whether there is anything new, only the commit counter
/// of a fresh snapshot tells; the system's watch of the file says when to look at once. No snapshot is kept while waiting.
///
/// The watch alone is not enough: it tells of the write of a meta page, and LMDB shows the commit to readers only afterwards, so
/// that a watcher that wakes quickly sees nothing new and is not woken again. So it also looks without being told.
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
    /// How long it rests at most: half of what an observer may lag.
    private static let restMilliseconds = 50

    /// What a rest ends with.
    enum Wake {
        /// Something happened, or may have.
        case told
        /// The time is over.
        case unasked
        /// Nobody waits any more, or the watch is to end.
        case ended
    }

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

    /// Rests until there may be news. At the end it forgets the thread.
    func rest() -> Wake {
        let watch: FileWatch?? = state.withLock { state in
            if !state.waiting.isEmpty, state.stops == 0 { return state.watch }
            (state.thread, state.watch) = (nil, nil)
            return nil
        }
        guard let watch else { return .ended }
        if let watch {
            return watch.wait(milliseconds: CommitWatcher.restMilliseconds) ? .told : .unasked
        }
        pause(milliseconds: CommitWatcher.restMilliseconds)
        return .unasked
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
        let ticket = watcher.enter(options.limits.watchedFolder ?? path, seen: seen) { [weak self] in
            var look = self?.lookForCommits()
            while let self {
                switch watcher.rest() {
                case .ended: return
                case .told: look = lookForCommits()
                case .unasked: look = lookForCommits(unlessAsAt: look)
                }
            }
        }
        defer { watcher.leave(ticket) }
        return await observers.wait(after: generation)
    }

    /// What a look has found, for the next one to compare with.
    private struct Look {
        let environment: Environment
        let commit: UInt64
        let transaction: UInt64
        /// How often it was taken for the present state since.
        var repeats = 0
    }

    /// Looks into a fresh snapshot and tells those to whom its commit is news. Not where the file's last transaction is that of
    /// the last look, whose number is known without a snapshot. A file that another one took the place of without a word keeps
    /// its number, so now and then a snapshot is taken all the same.
    private func lookForCommits(unlessAsAt last: Look? = nil) -> Look? {
        var look = last.flatMap { isCurrent($0) ? $0 : nil }
        look?.repeats += 1
        if look == nil { look = try? self.look() }
        if let look, watcher.takeNews(look.commit) { observers.notify() }
        return look
    }

    private func isCurrent(_ look: Look) -> Bool {
        guard look.repeats < 20, let file = try? usableFile(), file.environment === look.environment,
            let info = try? file.environment.info()
        else { return false }
        return UInt64(info.lastTransaction) == look.transaction
    }

    private func look() throws -> Look {
        // Before the read: where that goes on with another file, the next look does not take this one for the present state.
        let environment = environment
        let (commit, transaction) = try read { ($0.context.header.commit, $0.context.header.transaction) }
        return Look(environment: environment, commit: commit, transaction: transaction)
    }
}
