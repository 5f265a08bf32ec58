import ColumnFormat
import HealthModel
import LMDB

/// Releases the file while the process may be stopped, and opens it again.
enum Suspension {
    static func suspend(within timeout: Duration, in core: StoreCore) throws {
        let deadline = ContinuousClock.now + timeout
        // Accepted writes are finished first.
        if !core.options.readOnly, try !core.finishesQueued(by: deadline) {
            throw notSuspended("Writes have", in: core)
        }
        let file = try beginSuspension(by: deadline, in: core)
        let hasEnded = core.writer.withLock { $0 }?.stop(atMost: ContinuousClock.now.duration(to: deadline)) ?? true
        guard hasEnded else { throw giveUpSuspension("Writes have", in: core) }
        core.writer.withLock { $0 = nil }
        core.leadership.look()
        core.watcher.stop()
        // Also those that hold the locks of a file that was replaced meanwhile.
        let rest = ContinuousClock.now.duration(to: deadline)
        let haveEnded = core.readers.wait(atMost: rest) { readers in
            readers.isEmpty
        } then: { readers in
            readers.isEmpty
        }
        guard haveEnded else { throw giveUpSuspension("Readers have", in: core) }
        while true {
            let closing = file.environment.closeNow(within: ContinuousClock.now.duration(to: deadline))
            if closing == .closed { break }
            guard ContinuousClock.now < deadline else {
                let whose = closing == .inUse ? "Readers have" : "Another program's lock of the folder has"
                throw giveUpSuspension(whose, in: core)
            }
            pause(milliseconds: 1)
        }
        file.closeJournal()
        core.pool.empty()
        file.written.write(file.data, core.path)
        core.state.withLock { $0.phase = .suspended }
    }

    /// Refuses calls from now on. Waits for an exchange of the file that is under way, such as a compaction.
    private static func beginSuspension(by deadline: ContinuousClock.Instant, in core: StoreCore) throws -> OpenFile {
        while true {
            let begun: OpenFile? = try core.following.withLockIfFree { _ in
                let file = try core.usableFile()
                let header = try presentHeader(file, in: core)
                core.state.withLock { state in
                    state.phase = .suspending
                    state.suspendedAt = header
                }
                return file
            }
            if let begun { return begun }
            guard ContinuousClock.now < deadline else { throw notSuspended("An exchange of the file has", in: core) }
            pause(milliseconds: 1)
        }
    }

    /// Returns the header; `nil` if another file has taken its place, which is opened after the suspension, or if
    /// another process has let the file grow: to adopt its size would mean to wait for readers.
    private static func presentHeader(_ file: OpenFile, in core: StoreCore) throws -> StoreHeader? {
        var failure: LMDBError?
        guard var transaction = file.environment.beginRead(failure: &failure) else {
            if let failure, failure.code != .mapResized { throw failure }
            return nil
        }
        let isRetired = try file.isRetired(in: transaction)
        if isRetired { return nil }
        transaction.layer = try file.journal(of: transaction.view, transaction: transaction.id).layer
        return try StoreHeader.read(transaction.view, file.tables)
    }

    private static func giveUpSuspension(_ whose: String, in core: StoreCore) -> StoreError {
        core.state.withLock { $0.phase = .open }
        // Callers that wait for commits watch the file again.
        core.observers.notify()
        return notSuspended(whose, in: core)
    }

    private static func notSuspended(_ whose: String, in core: StoreCore) -> StoreError {
        StoreError(.busy, path: core.path, "\(whose) not ended in time, so the store is not suspended")
    }

    static func resume(in core: StoreCore) throws {
        try core.notices.holding { try resumeLocked(in: core) }
        core.observers.notify()
    }

    private static func resumeLocked(in core: StoreCore) throws {
        try core.following.withLock { _ in
            switch core.state.withLock({ $0.phase }) {
            case .open: return
            case .suspending: throw StoreError(.busy, path: core.path, "suspend() still waits for readers")
            case .suspended: break
            }
            do {
                let (old, before) = core.state.withLock { ($0.file, $0.suspendedAt) }
                let new = try core.registry.moving(core) {
                    try Following.openSuccessor(of: old, from: before, in: core)
                }
                core.state.withLock { state in
                    state.file = new
                    state.phase = .open
                }
            } catch {
                throw StoreError.wrap(error, path: core.path)
            }
        }
    }
}
