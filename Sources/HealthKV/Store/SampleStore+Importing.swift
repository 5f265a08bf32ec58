import HealthModel

// Imports of whole histories, batch by batch.
extension SampleStore {
    /// Imports a batch in one durable commit.
    ///
    /// If `job` is given, the commit also counts the batch as done. After a crash, call ``importPosition(of:)`` and
    /// continue from there.
    @discardableResult
    public func importBatch(_ batch: SampleBatch, job: String? = nil) throws -> ImportReport {
        try write { transaction in
            let report = try transaction.importBatch(batch)
            if let job { try ImportJob.advance(job: job, in: &transaction) }
            return report
        }
    }

    /// Returns how many batches of a job are in the store; 0 if the job is unknown or finished.
    public func importPosition(of job: String) throws -> Int {
        try read { try ImportJob.position(of: job, in: $0.snapshot) }
    }

    /// Removes the record of a finished job.
    public func finishImport(of job: String) throws {
        try write { try ImportJob.finish(job, in: &$0) }
        // All samples are stored. Summaries over damaged chunks stay stale, and `check` reports the damage.
        do { try Upkeep.refreshAllSummaries(in: core) } catch  where StoreError.isDamage(error) {}
    }

    /// Imports batches, each in a durable commit, in memory that does not grow with their number.
    ///
    /// If the process is killed midway, the same call with the same batches continues after the last one that was
    /// stored. It counts batches and does not look into them: cut the history into the same batches each time.
    ///
    /// Rows without ids that are equal in everything that makes their identity are distinguished by counting them
    /// within a batch. If such twins may fall into different batches, set their `SampleBatch.Extras.multiplicity`
    /// yourself: 0, 1, 2 and so on over the whole history. Otherwise the second is taken for the first, imported again.
    ///
    /// ```swift
    /// let report = try store.importAll(history.batches(), job: "first import")
    /// ```
    @discardableResult
    public func importAll(_ batches: some Sequence<SampleBatch>, job: String) throws -> ImportReport {
        var report = ImportReport()
        var left = try importPosition(of: job)
        for batch in batches {
            if left > 0 {
                left -= 1
                continue
            }
            report += try importBatch(batch, job: job)
        }
        try finishImport(of: job)
        return report
    }
}

extension HistoryRun {
    /// Begins an import into a store, or goes on with one of which some batches are stored.
    package convenience init(in store: SampleStore, job: String?) throws {
        let (last, earlier) = try store.blockingRead { txn in
            (txn.context.lastCommit, try job.flatMap { try ImportJob.commits(of: $0, in: txn.snapshot) })
        }
        self.init(firstCommit: last + 1, earlier: earlier)
    }
}

extension WriteTransaction {
    /// Counts one more batch of an import as stored.
    package mutating func countBatch(of job: String) throws { try ImportJob.advance(job: job, in: &self) }

    /// Counts at least so many batches of an import as stored, as in another copy of the store.
    package mutating func advanceImport(of job: String, to position: Int) throws {
        try ImportJob.advance(job: job, to: position, in: &self)
    }
}

extension SampleReading where Self: ~Copyable {
    /// The imports that are not finished, and how many batches of each are stored.
    package func unfinishedImports() throws -> [(job: String, position: Int)] {
        try ImportJob.all(in: snapshot).map { ($0.name, $0.position) }
    }
}
