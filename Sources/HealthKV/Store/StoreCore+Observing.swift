import HealthModel
import LMDB

extension StoreCore {
    /// Waits until there is a commit beyond those that the caller has seen: `generation` counts the commits of this
    /// process, `seen` is the commit counter of the snapshot that the caller read. Returns `false` if the store is
    /// closed or the task is cancelled.
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

    /// What one look at the file found. The next look compares with it.
    private struct Look {
        let environment: Environment
        let commit: UInt64
        let transaction: UInt64
        /// How many later looks have assumed that this result still holds.
        var repeats = 0
    }

    /// Reads the commit counter from a fresh snapshot and notifies the observers if the commit is new to any of them.
    /// Takes no snapshot if the file's last transaction, whose number is known without one, is still that of the last
    /// look. A file that was replaced without notice may keep its transaction number, so now and then a look takes a
    /// snapshot all the same.
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
            && file.seenJournal(of: info.lastTransaction) != nil
    }

    private func look() throws -> Look {
        // Taken before the read: if the read switches to another file, the next look does not take this result for
        // current.
        let environment = environment
        let (commit, transaction) = try read { ($0.context.state.header.commit, $0.context.state.header.transaction) }
        return Look(environment: environment, commit: commit, transaction: transaction)
    }
}
