import HealthKV
import Synchronization

extension SyncEngine {
    /// Returns how many foreign samples the peer has, by type, so that the app can ask whether to import them. They are
    /// counted page by page; cancelling the task ends the count.
    ///
    /// - Parameters:
    ///   - name: The name of the peer.
    ///   - progress: Called after each page with the counts so far.
    public func importPreview(
        _ name: PeerID, progress: (@Sendable ([SampleType: Int]) -> Void)? = nil
    ) async throws -> [SampleType: Int] {
        try await session(name).inTurn { session in
            var counts: [SampleType: Int] = [:]
            for (type, plan) in session.plan.types.sorted(by: { $0.key < $1.key }) where plan.pulls {
                do {
                    let counted = counts
                    counts[type] = try await session.preview.count(type) { count in
                        progress?(counted.merging([type: count]) { $1 })
                    }
                } catch let error as PeerError {
                    // Types that the user is asked for at a later stage show nothing yet.
                    if error.code == .notDetermined { continue }
                    throw SyncIssue(error, plan: session.plan)
                }
            }
            session.memory.previewed = counts
            return counts
        }
    }

    /// Enables a peer and imports its history: all of it, that of some days, or none of the existing samples (SEMANTICS
    /// C9). The newest samples come first. Cancelling the task stops the import between two pages, and a later call
    /// continues there. Each step reports the progress of the whole import. What a database has to import is counted
    /// after the newest samples are stored: until then, the steps have no total, unless
    /// ``importPreview(_:progress:)`` has just counted.
    ///
    /// A peer that keeps records, such as another store, is read whole: for it, any horizon except `all` is
    /// ``SyncIssue/Code/invalid``.
    ///
    /// ```swift
    /// for try await progress in sync.importHistory("HealthKit", .all) { show(progress) }
    /// ```
    public func importHistory(
        _ name: PeerID, _ horizon: TypePlan.Horizon
    ) -> AsyncThrowingStream<SyncProgress, any Error> {
        AsyncThrowingStream { continuation in
            let work = Task { [self] in
                do {
                    let report = try await session(name).inTurn { session in
                        try await session.core.logging("importHistory") {
                            try await session.enrollment.enable(horizon)
                            session.noteChange()
                            let progress = Mutex(ImportProgress())
                            let preview = session.preview
                            if let known = try preview.leftOfPreview(horizon) { progress.withLock { $0.left = known } }
                            session.memory.progress = { step in
                                continuation.yield(progress.withLock { $0.counting(step) })
                            }
                            session.memory.newestStored = {
                                let left = try await preview.leftToImport(horizon)
                                progress.withLock { $0.left = left }
                            }
                            defer { (session.memory.progress, session.memory.newestStored) = (nil, nil) }
                            return try await session.pass(PassRequest(isUrgent: true))
                        }
                    }
                    // Entries that wait for write access do not stop an import.
                    let waiting = try session(name).access.accessIssue()
                    continuation.finish(throwing: report.issue == waiting ? nil : report.issue)
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in work.cancel() }
        }
    }

    /// Forgets a peer: its queue, links, anchors and totals. With `purge` it also removes the samples that the peer
    /// brought; without it, the plan of each type decides. Nothing is deleted at the peer. Returns how many samples
    /// were removed. A second call removes nothing more, unless the first one did not finish.
    ///
    /// With a peer that keeps records, such as another store, all samples are shared, and none belongs to that peer
    /// alone: to purge them is ``SyncIssue/Code/invalid``, and nothing is done.
    @discardableResult
    public func disconnect(_ name: PeerID, purge: Bool? = nil) async throws -> Int {
        let session = try session(name)
        let purged = try await session.interrupting { try await $0.enrollment.disconnect(purge: purge) }
        await session.noteChange()
        return purged
    }

    /// Lets an operation that was parked or refused be tried again. Returns `false` if it no longer exists.
    @discardableResult
    public func retry(_ operationID: String) async throws -> Bool {
        try await store.write { txn in
            guard var operation = try txn.pending(id: operationID) else { return false }
            operation.retry()
            try txn.updatePending(operation)
            return true
        }
    }

    /// Gives up an operation. Returns `false` if it no longer exists. A sample that another store refused stays here,
    /// whatever that store forgets.
    @discardableResult
    public func discard(_ operationID: String) async throws -> Bool {
        try await store.write { txn in
            guard let operation = try txn.pending(id: operationID) else { return false }
            try txn.removePending(operation)
            // A peer that follows the feed passed this sample without taking it, so the sample was not given to it.
            guard operation.kind == .save, let peer = try txn.peer(operation.peer) else { return true }
            if peer.queue == nil {
                try txn.setLink(.refused(operation.sample, by: peer.id))
            } else if operation.isSent, let type = try txn.sample(id: operation.sample)?.type {
                // The peer may hold the sample. Its feed shows it, also where the type is only sent.
                var state = try txn.state(of: peer.id)
                state[type].isOvertaken = true
                try txn.setState(state, of: peer.id)
            }
            return true
        }
    }
}
