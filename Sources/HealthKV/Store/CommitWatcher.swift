import HealthModel
import LMDB

/// Wakes callers that wait for changes when another process commits. Only the commit counter of a fresh snapshot tells
/// whether there is anything new; the system's watch of the file tells when to look at once. The watcher keeps no
/// snapshot while it waits.
///
/// The file watch alone is not enough: it fires when a meta page is written, and LMDB makes the commit visible to
/// readers only afterwards. A watcher that wakes quickly sees nothing new and is not woken again. So it also polls.
final class CommitWatcher: Sendable {
    private struct State {
        /// The last commit that each waiting caller has seen, by its ticket.
        var waiting: [UInt64: UInt64] = [:]
        var nextTicket: UInt64 = 0
        /// How many callers wait for the thread to end. A caller that starts to wait for changes meanwhile must not
        /// keep the thread alive.
        var stops = 0
        var thread: WriterThread?
        var watch: FileWatch?
    }

    private let state = Monitor(State())
    /// The longest rest: half of the lag that an observer may have.
    private static let restMilliseconds = 50

    /// Why a rest ended.
    enum Wake {
        /// The file watch fired, or was woken: there may be a new commit.
        case told
        /// The rest timed out.
        case unasked
        /// No caller waits any more, or the watch is being stopped.
        case ended
    }

    /// Registers a caller that has seen all commits up to `seen`, and returns a ticket for ``leave(_:)``. The first
    /// caller starts the watch.
    func enter(_ folder: String, seen: UInt64, _ watch: @escaping @Sendable () -> Void) -> UInt64 {
        let (ticket, thread): (UInt64, WriterThread?) = state.withLock { state in
            state.nextTicket += 1
            state.waiting[state.nextTicket] = seen
            // The thread may sleep through a commit that happened between the caller's snapshot and now.
            state.watch?.wake()
            guard state.thread == nil else { return (state.nextTicket, nil) }
            state.watch = FileWatch(folder: folder)
            state.thread = WriterThread(name: "healthkv watch", idlePeriod: .zero)
            return (state.nextTicket, state.thread)
        }
        if let thread, !thread.perform(watch) {
            // The system has no thread to give, or the store is being suspended. The next caller tries again.
            state.withLock { if $0.thread === thread { ($0.thread, $0.watch) = (nil, nil) } }
        }
        return ticket
    }

    /// Removes the caller that holds the ticket.
    func leave(_ ticket: UInt64) {
        state.withLock { state in
            state.waiting[ticket] = nil
            if state.waiting.isEmpty { state.watch?.wake() }
        }
    }

    /// Returns `true` if the commit is new to any waiting caller. Counts as told to all callers that wait now.
    func takeNews(_ commit: UInt64) -> Bool {
        state.withLock { state in
            guard let seen = state.waiting.values.min(), commit > seen else { return false }
            for ticket in state.waiting.keys { state.waiting[ticket] = .max }
            return true
        }
    }

    /// Rests until there may be a new commit. Returns `.ended`, and forgets the thread, when the watch is over.
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

    /// Whether a thread watches for commits.
    var isWatching: Bool { state.withLock { $0.thread != nil } }

    /// Ends the watch, even while callers wait. A caller that goes on waiting stays registered until it leaves; the
    /// next caller to enter starts the watch again.
    func stop() {
        let thread = state.withLock { state in
            state.stops += 1
            state.watch?.wake()
            return state.thread
        }
        thread?.stop()
        state.withLock { state in
            state.stops -= 1
            // A thread that had not started its job never reaches `rest()`.
            if let thread, state.thread === thread { (state.thread, state.watch) = (nil, nil) }
        }
    }
}
