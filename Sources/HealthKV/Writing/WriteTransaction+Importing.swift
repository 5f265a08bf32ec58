import ColumnFormat
import HealthModel
import LMDB

extension WriteTransaction {
    /// Notes that a source exists, which ranks it behind those that were seen before.
    package mutating func meet(_ source: Source) throws {
        _ = try NameTable.number(ofRevision: source == .thisApp ? environment.source : source, in: &self)
    }

    /// Imports a batch. Checks every identity: rows that the store knows are saved one by one by the rules of
    /// ``save(_:)-(Sample)``; all others go directly into chunks, of several rows of one sample the one that wins.
    ///
    /// Identical rows without ids are numbered within the batch; across batches give them a
    /// `SampleBatch.Extras.multiplicity`. The sources of the batch's kinds become known in their order, which ranks
    /// them, including kinds without rows.
    @discardableResult
    public mutating func importBatch(_ batch: SampleBatch) throws -> ImportReport {
        guard !batch.kinds.isEmpty else { return ImportReport() }
        try batch.validate()
        return try whole { try Importing.importValid(batch, in: &$0) }
    }

    /// Imports a batch that a peer's feed delivered, in the order of the feed. The caller has checked
    /// `SampleBatch.isStorable`. A peer gives no time of writing: its samples count as written at their end, or at
    /// the last complete read of the feed before they arrived if that is later (SEMANTICS C2). Among samples written at
    /// the same time, the last one in the feed wins.
    ///
    /// - Parameters:
    ///   - lastLook: the time at which the feed was last read to its end; `nil` if it never was.
    ///   - ordersHeld: whether to reorder samples that are already stored as well, because they arrived outside the
    ///     feed.
    package mutating func importFeed(
        _ batch: SampleBatch, lastLook: Instant?, ordersHeld: Bool = false
    ) throws -> ImportReport {
        guard !batch.kinds.isEmpty else { return ImportReport() }
        return try whole { txn in
            // The last read cannot be in the future, even if the clock was wrong then.
            let time = lastLook.map { min($0, txn.tick().time) } ?? .beforeAnyLook
            txn.state.importClock = ChangeClock(time: time, replica: txn.state.header.replica)
            defer { txn.state.importClock = nil }
            let first = txn.state.ordinal
            let adoption = try HistoryAdoption.find(batch, in: &txn)
            let report = try Importing.importValid(batch, in: &txn)
            try Importing.orderAsFed(batch, written: time, behind: ordersHeld ? nil : first, in: &txn)
            if !adoption.isEmpty { try adoption.finish(in: &txn) }
            return report
        }
    }

    /// Lets each sample of an export leave that is here under the id of a peer as well, after another store brought one
    /// of the two (SEMANTICS C37). The stores are told. Returns the edits that are not shown any more.
    ///
    /// - Parameter brought: what the other store brought and is stored now.
    package mutating func joinExports(among brought: [Sample]) throws -> LostEdits {
        guard !brought.isEmpty else { return LostEdits() }
        let adoption = try ExportJoining.find(brought: brought, in: &self)
        return adoption.isEmpty ? LostEdits() : try whole { try adoption.finish(in: &$0) }
    }
}
