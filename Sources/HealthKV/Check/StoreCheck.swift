import HealthModel

/// Checks everything in one snapshot of a store, one check after the other. Each check leaves out what follows from the
/// damage that an earlier one found.
struct StoreCheck {
    private let log: CheckLog

    /// - Parameter limit: the most findings to list; the rest are counted.
    init(limit: Int) { log = CheckLog(limit: limit) }

    /// - Parameters:
    ///   - transaction: LMDB's number of the transaction that the snapshot belongs to.
    ///   - inspection: the pages of the snapshot, if the file can be read beside LMDB.
    ///   - first: the part to begin with. What follows from damage in an earlier part is then reported, too.
    func run(
        _ snapshot: borrowing Snapshot, _ transaction: UInt64, _ inspection: PageInspection? = nil,
        from first: CheckPart = .pages, _ progress: (Double) -> Bool
    ) throws -> CheckReport {
        var goesOn = true
        func step(_ share: Double) -> Bool {
            if goesOn { goesOn = progress(share) }
            return goesOn
        }
        for part in CheckPart.allCases.drop(while: { $0 != first }) {
            try run(part, snapshot, transaction, from: first, step)
            guard part == .peers || step(StoreCheck.share(after: part)) else {
                log.report.stoppedAt = part
                break
            }
        }
        _ = progress(1)
        log.locateChunks(snapshot)
        if let inspection { log.locatePages(inspection, snapshot) }
        return log.report
    }

    private static func share(after part: CheckPart) -> Double {
        switch part {
        case .pages: 0.05
        case .records: 0.1
        case .chunks: 0.6
        case .identity: 0.8
        case .summaries: 0.9
        case .queue, .links: 0.95
        case .peers: 1
        }
    }

    private func run(
        _ part: CheckPart, _ snapshot: borrowing Snapshot, _ transaction: UInt64, from first: CheckPart,
        _ progress: (Double) -> Bool
    ) throws {
        switch part {
        case .pages: try checkHeader(snapshot, transaction)
        case .records: RecordCheck(log: log).run(snapshot)
        case .chunks:
            var check = ChunkCheck(log: log, snapshot, afterRecords: [.pages, .records].contains(first))
            try check.run(snapshot, progress)
        case .identity:
            var check = IdentityCheck(log: log)
            check.run(snapshot, progress)
        case .summaries: SummaryCheck(log: log).run(snapshot)
        case .queue: QueueCheck(log: log).run(snapshot)
        case .links: LinkCheck(log: log).run(snapshot)
        case .peers: PeerCheck(log: log).run(snapshot)
        }
    }

    private func checkHeader(_ snapshot: borrowing Snapshot, _ transaction: UInt64) throws {
        if snapshot.header.transaction != transaction {
            log.add(
                .header, .meta, "the header belongs to transaction \(snapshot.header.transaction), not \(transaction)")
        }
        if let kept = snapshot.header.recordSum, try RecordSum.count(in: snapshot) != kept {
            log.add(.recordsOutdated, .meta, "records are of an older commit than the header")
        }
    }
}
