import ColumnFormat
import HealthModel
import LMDB

/// Carries the result of a closure from the writing thread to its caller.
private final class ResultBox<Result: Sendable>: Sendable {
    let value = Monitor<Result?>(nil)
    private let done = Monitor<Swift.Result<Void, any Error>?>(nil)
    private let gate = Gate()

    func finish(_ error: (any Error)?) {
        done.withLock { $0 = error.map { .failure($0) } ?? .success(()) }
        gate.open()
    }

    func wait() throws -> Result {
        gate.wait()
        try done.withLock { $0 }!.get()
        return value.withLock { $0 }!
    }
}

extension StoreCore {
    /// The most members of one commit. Bounds the work that a crash can undo and how long the first member waits.
    private static let groupLimit = 1_024

    func write<Result: Sendable>(
        as source: Source, _ body: @escaping @Sendable (inout WriteTransaction) throws -> Result
    ) throws -> Result {
        guard !isWriting else { throw StoreError(.nested, path: path, "write was called inside write") }
        let box = ResultBox<Result>()
        try enqueue(
            WriteMember(
                run: { transaction in
                    transaction.environment.source = try OwnSource.source(ofHandle: source, in: transaction)
                    let result = try body(&transaction)
                    try OwnSource.note(in: &transaction)
                    box.value.withLock { $0 = result }
                }, finish: { box.finish($0) }), mayLead: true)
        return try box.wait()
    }

    func write<Result: Sendable>(
        as source: Source, _ body: @escaping @Sendable (inout WriteTransaction) throws -> Result
    ) async throws -> Result {
        guard !isWriting else { throw StoreError(.nested, path: path, "write was called inside write") }
        let box = ResultBox<Result>()
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do {
                try enqueue(
                    WriteMember(
                        run: { transaction in
                            transaction.environment.source = try OwnSource.source(ofHandle: source, in: transaction)
                            let result = try body(&transaction)
                            try OwnSource.note(in: &transaction)
                            box.value.withLock { $0 = result }
                        },
                        finish: { error in
                            if let error { continuation.resume(throwing: error) } else { continuation.resume() }
                        }))
            } catch {
                continuation.resume(throwing: error)
            }
        }
        return box.value.withLock { $0 }!
    }

    /// Queues a write.
    ///
    /// - Parameter mayLead: whether the caller waits anyway, and so may carry it out.
    private func enqueue(_ member: WriteMember, mayLead: Bool = false) throws {
        guard !options.readOnly else {
            throw StoreError(.readOnly, path: path, "The store was opened for reading only")
        }
        // A forked child has no writing thread. This throws there.
        try checkUsable()
        let isFirst = try queue.withLock { queue in
            guard !queue.isClosed else { throw StoreError(.closed, path: path, "The store is closed") }
            queue.members.append(member)
            return queue.members.count == 1
        }
        // One job empties the queue, so only the first member needs to submit one.
        guard isFirst else { return }
        if mayLead, lead() { return }
        if !thread().perform({ [self] in leadership.lead { writeQueued() } }) {
            let failed = queue.withLock { $0.take(limit: .max) }
            for member in failed { member.finish(refusal()) }
        }
    }

    /// Carries out what waits, on the calling thread. Returns `false` if somebody else writes.
    private func lead() -> Bool {
        let hasLed: Void? = leadership.leadIfFree {
            let members = queue.withLock { $0.take(limit: StoreCore.groupLimit) }
            if !members.isEmpty { WriterThread.withSizeSignalDeferred { commit(members) } }
        }
        guard hasLed != nil else { return false }
        let hasMore = queue.withLock { !$0.members.isEmpty }
        if hasMore {
            // Those that came meanwhile left it to this thread, which has waited long enough.
            if !thread().perform({ [self] in leadership.lead { writeQueued() } }) {
                let failed = queue.withLock { $0.take(limit: .max) }
                for member in failed { member.finish(refusal()) }
            }
        } else if options.maintainsWhenIdle, holdsFile, leadership.mustWake(), !thread().perform({}) {
            leadership.look()
        }
        return true
    }

    /// Returns why the writing thread accepts no job.
    private func refusal() -> StoreError {
        if queue.withLock({ $0.isClosed }) { return StoreError(.closed, path: path, "The store is closing") }
        if state.withLock({ $0.phase != .open }) {
            return StoreError(.suspended, path: path, "The store is suspended")
        }
        return StoreError(.busy, path: path, "The writing thread is stopping, or no thread can be started")
    }

    /// Waits until the writing thread has finished the queued work. Returns `false` if it has not by the deadline.
    func finishesQueued(by deadline: ContinuousClock.Instant) throws -> Bool {
        try checkUsable()
        let isDone = Monitor(false)
        guard thread().perform({ [self] in leadership.lead { isDone.update { $0 = true } } }) else { throw refusal() }
        return isDone.wait(atMost: ContinuousClock.now.duration(to: deadline)) { isDone in
            isDone
        } then: { isDone in
            isDone
        }
    }

    /// Runs `body` on the writing thread, between commits.
    func onWriter<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
        guard !isWriting else { throw StoreError(.nested, path: path, "maintain was called inside write") }
        guard !options.readOnly else {
            throw StoreError(.readOnly, path: path, "The store was opened for reading only")
        }
        try checkUsable()
        let box = ResultBox<Result>()
        let accepted = thread().perform { [self] in
            do {
                let result = try leadership.lead(body)
                box.value.withLock { $0 = result }
                box.finish(nil)
            } catch {
                box.finish(error)
            }
        }
        guard accepted else { throw refusal() }
        do {
            return try box.wait()
        } catch {
            throw wrapped(error)
        }
    }

    func thread() -> WriterThread {
        writer.withLock { writer in
            if let writer { return writer }
            let made = WriterThread(name: "healthkv", idlePeriod: options.idlePeriod) { [weak self] in
                guard let self, options.maintainsWhenIdle else { return .none }
                leadership.look()
                let work = pauseBeforeUpkeep.map { .later($0) } ?? leadership.lead { maintainIdly() }
                if case .none = work { return work }
                leadership.lookAgain()
                return work
            }
            writer = made
            return made
        }
    }

    /// How long upkeep still waits for further commits; `nil` if it does not wait.
    var pauseBeforeUpkeep: Duration? {
        let mayGrow = file.journaledCommits < options.limits.journaledCommits
        let lastCommit = mayGrow ? file.journalGrew : nil
        return upkeepTurn.withLock { $0.pause(after: lastCommit) }
    }

    /// Runs a step of upkeep that no caller waits for. Posts a notice when it fails, once for each reason.
    private func maintainIdly() -> WriterThread.IdleWork {
        // Each step writes to the tables, and so moves the journal there first.
        if let pause = pauseBeforeUpkeep { return .later(pause) }
        // Who waits for another process that writes for long cannot be stopped, and closing would wait as well.
        guard environment.isFreeToWrite(within: .milliseconds(20)) else { return .later(.milliseconds(200)) }
        do {
            let work = try Upkeep.maintainStep(waits: true, in: self)
            upkeepFailure.withLock { $0 = nil }
            return work
        } catch {
            let reason = String(describing: StoreError.wrap(error, path: path))
            let isNew = upkeepFailure.withLock { known in
                defer { known = reason }
                return known != reason
            }
            if isNew { notices.post(.upkeepFailed, path, reason) }
            return .none
        }
    }

    private func writeQueued() {
        while true {
            let members = queue.withLock { $0.take(limit: StoreCore.groupLimit) }
            if members.isEmpty { return }
            commit(members)
            if queue.withLock({ $0.members.isEmpty }) { return }
            // Writers that take turns leave the thread no idle moment.
            if options.maintainsWhenIdle, upkeepTurn.withLock({ $0.isDue() }) { _ = maintainIdly() }
        }
    }

    /// Converts an error for the caller. If the map was too small for a transaction, the map grows before the next one;
    /// the closure is not run again, since it may have had side effects.
    private func wrap(_ error: any Error) -> any Error {
        if let error = error as? LMDBError, error.code == .mapFull { ranOut.store(true, ordering: .relaxed) }
        return wrapped(error)
    }

    /// Runs the members in one transaction. Once everything is durable, tells each member how it went.
    func commit(_ members: [WriteMember]) {
        var failures = [(any Error)?](repeating: nil, count: members.count)
        do {
            let changed = try transact(to: .journal) { transaction in
                if members.count == 1 {
                    try members[0].run(&transaction)
                    return
                }
                for (index, member) in members.enumerated() {
                    try transaction.moveToTablesIfLarge()
                    do {
                        try transaction.nested { try member.run(&$0) }
                    } catch {
                        failures[index] = wrap(error)
                    }
                }
            }
            if changed { observers.notify() }
        } catch {
            let wrapped = wrap(error)
            for index in members.indices where failures[index] == nil { failures[index] = wrapped }
        }
        for (member, failure) in zip(members, failures) { member.finish(failure) }
    }
}
