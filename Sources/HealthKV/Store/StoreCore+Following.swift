import ColumnFormat
import HealthModel
import LMDB

/// Handles a data file that was replaced while it is open. After a compaction by this or another process, the store
/// continues with the new file; after any other replacement it throws.
extension StoreCore {
    /// Opens the file that has taken the place of `old`, and returns it.
    func follow(_ old: OpenFile) throws -> OpenFile {
        try notices.holding { try followLocked(old) }
    }

    private func followLocked(_ old: OpenFile) throws -> OpenFile {
        try following.withLock { _ in
            let present = try usableFile()
            if present !== old { return present }
            let isRetired = try? old.isRetired()
            if isRetired == true { try FileReplacement(folder: path).finish(old.data) }
            if isRetired == false { try refuseLostLock(old) }
            do {
                // A legitimate replacement also unlinks lock.mdb. Opening another file with locks that this process
                // holds would break those locks.
                guard old.lock == nil || FileSystem.identity(of: path + "/lock.mdb") != old.lock else {
                    throw StoreError(.replaced, path: path, "data.mdb was exchanged, and its lock file was not")
                }
                let before = try? old.header()
                let new = try registry.moving(self) { try openSuccessor(of: old, from: before) }
                state.withLock { $0.file = new }
                notices.post(.reopened, path, "Another file took the place of data.mdb, and the store went on with it")
                return new
            } catch let error as StoreError where StoreCore.isLasting(error) {
                let wrapped = StoreError(
                    .replaced, path: path, "data.mdb was replaced or removed while it was open", underlying: error)
                state.withLock { $0.replaced = wrapped }
                throw wrapped
            }
        }
    }

    /// Throws if the data file is still in place but its lock file is not. With a new lock file, writers would not see
    /// readers that use the old one, and would reuse the pages that these readers see. The replacement of a retired
    /// file removes the lock file legitimately.
    private func refuseLostLock(_ old: OpenFile) throws(StoreError) {
        guard FileSystem.identity(of: path + "/data.mdb") == old.data,
            FileSystem.identity(of: path + "/lock.mdb") != old.lock
        else { return }
        let error = StoreError(
            .replaced, path: path,
            "lock.mdb was removed or exchanged while the store was open: close the store in every process, then open it"
        )
        state.withLock { $0.replaced = error }
        throw error
    }

    /// Returns `true` if the error means that the store cannot continue with the contents of the folder. Other
    /// failures, such as lack of memory, may pass.
    private static func isLasting(_ error: StoreError) -> Bool {
        [.replaced, .noStore, .notAStore, .damaged, .newerFormat, .unsafeFolder].contains(error.code)
    }

    /// Returns the file that is in the folder now, for operations that need no transaction.
    func presentFile() throws -> OpenFile {
        var file = try usableFile()
        while !file.isInPlace(path) { file = try follow(file) }
        return file
    }

    /// Opens the file in the folder, which must belong to the same store and must not be an earlier state than
    /// `before`.
    private func openSuccessor(of old: OpenFile, from before: StoreHeader?) throws -> OpenFile {
        var options = options
        options.createIfMissing = false
        options.limits.ignoresPlace = true
        let new = try FileOpener(folder: path, options: options, notices: notices).open()
        guard new.storeID == old.storeID else {
            throw StoreError(.replaced, path: path, "The folder holds another store now")
        }
        if let before, let goesOn = try? FileOpener.catchingUp(new.environment, { try new.goesOn(from: before) }),
            !goesOn
        {
            new.environment.close()
            throw StoreError(.replaced, path: path, "The folder holds an earlier state or a copy of the store now")
        }
        return new
    }
}

extension SampleStore {
    /// Releases every lock and closes the file. Systems demand this of a process that they may stop for a long time
    /// while others run: iOS ends an app that is suspended while it holds a lock in a shared container.
    ///
    /// Waits for queued writes and for readers, even while a write waits for another process. Throws
    /// ``StoreError/Code/busy`` if they do not end in time; then the store is not suspended. Until ``resume()``, every
    /// call throws ``StoreError/Code/suspended``. Other handles of the same folder in this process are suspended, too.
    ///
    /// ```swift
    /// try store.suspend()      // when the scene enters the background
    /// try store.resume()       // when it comes back
    /// ```
    public func suspend(within timeout: Duration = .seconds(4)) throws {
        try checkOpen()
        guard !core.isInsideTransaction else {
            throw StoreError(.nested, path: path, "suspend() was called inside read or write")
        }
        try core.suspend(within: timeout)
    }

    /// Reopens the file after ``suspend(within:)``.
    public func resume() throws {
        try checkOpen()
        try core.resume()
    }
}

extension StoreCore {
    func suspend(within timeout: Duration) throws {
        let deadline = ContinuousClock.now + timeout
        // Accepted writes are finished first.
        if !options.readOnly, try !finishesQueued(by: deadline) { throw notSuspended("Writes have") }
        let file = try beginSuspension(by: deadline)
        let hasEnded = writer.withLock { $0 }?.stop(atMost: ContinuousClock.now.duration(to: deadline)) ?? true
        guard hasEnded else { throw giveUpSuspension("Writes have") }
        writer.withLock { $0 = nil }
        watcher.stop()
        while !file.environment.close() {
            guard ContinuousClock.now < deadline else { throw giveUpSuspension("Readers have") }
            pause(milliseconds: 1)
        }
        file.written.write(file.data, path)
        state.withLock { $0.phase = .suspended }
    }

    /// Refuses calls from now on. Waits for an exchange of the file that is under way, such as a compaction.
    private func beginSuspension(by deadline: ContinuousClock.Instant) throws -> OpenFile {
        while true {
            let begun: OpenFile? = try following.withLockIfFree { _ in
                let file = try usableFile()
                let header = try presentHeader(file)
                state.withLock { state in
                    state.phase = .suspending
                    state.suspendedAt = header
                }
                return file
            }
            if let begun { return begun }
            guard ContinuousClock.now < deadline else { throw notSuspended("An exchange of the file has") }
            pause(milliseconds: 1)
        }
    }

    /// Returns the header, even while other processes let the file grow.
    private func presentHeader(_ file: OpenFile) throws -> StoreHeader {
        let transaction = try begin(file)
        return try StoreHeader.read(transaction.view, file.tables)
    }

    private func giveUpSuspension(_ whose: String) -> StoreError {
        state.withLock { $0.phase = .open }
        // Callers that wait for commits watch the file again.
        observers.notify()
        return notSuspended(whose)
    }

    private func notSuspended(_ whose: String) -> StoreError {
        StoreError(.busy, path: path, "\(whose) not ended in time, so the store is not suspended")
    }

    func resume() throws {
        try notices.holding { try resumeLocked() }
        observers.notify()
    }

    private func resumeLocked() throws {
        try following.withLock { _ in
            switch state.withLock({ $0.phase }) {
            case .open: return
            case .suspending: throw StoreError(.busy, path: path, "suspend() still waits for readers")
            case .suspended: break
            }
            do {
                let (old, before) = state.withLock { ($0.file, $0.suspendedAt) }
                let new = try registry.moving(self) { try openSuccessor(of: old, from: before) }
                state.withLock { state in
                    state.file = new
                    state.phase = .open
                }
            } catch {
                throw StoreError.wrap(error, path: path)
            }
        }
    }
}
