import HealthModel

/// Checks everything in one snapshot of a store, one check after the other. Each check leaves out what follows from the
/// damage that an earlier one found.
struct StoreCheck {
    private let log: CheckLog

    /// - Parameter limit: the most findings to list; the rest are counted.
    init(limit: Int) { log = CheckLog(limit: limit) }

    /// - Parameter transaction: LMDB's number of the transaction that the snapshot belongs to.
    func run(
        _ snapshot: borrowing Snapshot, _ transaction: UInt64, _ progress: (Double) -> Bool
    ) throws -> CheckReport {
        if snapshot.header.transaction != transaction {
            log.add(
                .header, .meta, "the header belongs to transaction \(snapshot.header.transaction), not \(transaction)")
        }
        if let kept = snapshot.header.recordSum, try RecordSum.count(in: snapshot) != kept {
            log.add(.recordsOutdated, .meta, "records are of an older commit than the header")
        }
        RecordCheck(log: log).run(snapshot)
        guard progress(0.1) else { return log.report }
        try ChunkCheck(log: log, snapshot).run(snapshot, progress)
        guard progress(0.6) else { return log.report }
        IdentityCheck(log: log).run(snapshot, progress)
        SummaryCheck(log: log).run(snapshot)
        QueueCheck(log: log).run(snapshot)
        LinkCheck(log: log).run(snapshot)
        PeerCheck(log: log).run(snapshot)
        _ = progress(1)
        return log.report
    }
}
