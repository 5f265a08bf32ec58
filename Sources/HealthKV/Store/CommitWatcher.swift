import HealthModel
import LMDB

/// Wakes those who wait for changes when another process commits. Whether there is anything new, only the commit counter
/// of a fresh snapshot tells; the system's watch of the file merely says when to look. No snapshot is kept while waiting.
final class CommitWatcher: Sendable {
    private struct State {
        var waiting = 0
        /// The last commit that all who wait have seen.
        var seen: UInt64 = .max
        var thread: WriterThread?
        var watch: FileWatch?
    }

    private let state = Monitor(State())
    /// Where the system has no watch to give, or loses an event.
    private static let fallbackMilliseconds = 2_000

    /// Counts in someone who waits and has seen all commits up to `seen`. The first one starts the watch.
    fileprivate func enter(_ folder: String, seen: UInt64, _ watch: @escaping @Sendable () -> Void) {
        let thread: WriterThread? = state.withLock { state in
            state.waiting += 1
            state.seen = min(state.seen, seen)
            // The thread may sleep over a commit between the caller's look and now.
            state.watch?.wake()
            guard state.thread == nil else { return nil }
            state.watch = FileWatch(folder: folder)
            state.thread = WriterThread(name: "healthkv watch", idlePeriod: .zero)
            return state.thread
        }
        thread?.perform(watch)
    }

    fileprivate func leave() {
        state.withLock { state in
            state.waiting = max(0, state.waiting - 1)
            if state.waiting == 0 { state.watch?.wake() }
        }
    }

    /// Answers whether a commit is news to anybody who waits.
    fileprivate func takeNews(_ commit: UInt64) -> Bool {
        state.withLock { state in
            guard state.waiting > 0, commit > state.seen else { return false }
            state.seen = .max
            return true
        }
    }

    /// Rests until there may be news; answers false, and forgets the thread, when nobody waits any more.
    fileprivate func rest() -> Bool {
        let watch: FileWatch?? = state.withLock { state in
            if state.waiting > 0 { return state.watch }
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

    /// Ends the watch, whoever waits.
    func stop() {
        let thread = state.withLock { state in
            state.waiting = 0
            state.watch?.wake()
            return state.thread
        }
        thread?.stop()
    }
}

extension StoreCore {
    /// Waits until there is a commit beyond those that the caller has seen: `generation` counts those of this process,
    /// `seen` is the counter of the snapshot that was read. Answers false when the store is closed or the task cancelled.
    func waitForCommit(after generation: UInt64, seen: UInt64) async -> Bool {
        watcher.enter(path, seen: seen) { [weak self] in
            self?.lookForCommits()
            while let self, watcher.rest() { lookForCommits() }
        }
        defer { watcher.leave() }
        return await observers.wait(after: generation)
    }

    private func lookForCommits() {
        guard let commit = try? read({ $0.context.header.commit }) else { return }
        if watcher.takeNews(commit) { observers.notify() }
    }
}
