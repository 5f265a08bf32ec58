import ColumnFormat
import HealthModel

/// The progress of an import: a record in `upkeep`, written in the transaction of each batch.
struct ImportJob {
    var name: String
    /// The number of batches that are in the store.
    var position: Int
    /// The commit of the first of them; 0 in a record that does not say so. Samples that are in the store since then
    /// may be the import's own.
    var firstCommit: UInt64

    private static func key(_ name: String, _ hashKey: KeyedHash) -> [UInt8] {
        [UpkeepKind.importJob] + PeerKey.text(name, hashKey)
    }

    func value(key: [UInt8], stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(name)
        record.append(UInt64(position))
        record.append(firstCommit)
        return record.value(table: .upkeep, key: key, stamp: stamp)
    }

    init(name: String, position: Int, firstCommit: UInt64) {
        (self.name, self.position, self.firstCommit) = (name, position, firstCommit)
    }

    init(_ span: RawSpan, key: [UInt8]) throws(FormatError) {
        var record = try RecordReader(span, table: .upkeep, key: key)
        name = try record.readText()
        position = Int(try record.read(UInt64.self) & (1 << 62 - 1))
        firstCommit = record.isAtEnd ? 0 : try record.read(UInt64.self)
    }
}

extension ImportJob {
    static func find(_ name: String, in snapshot: Snapshot) throws -> ImportJob? {
        try stored(name, in: snapshot)?.job
    }

    /// Returns the commits between the first and the last of the batches that are in the store; `nil` if they are not
    /// known.
    static func commits(of name: String, in snapshot: Snapshot) throws -> ClosedRange<UInt64>? {
        guard let (job, last) = try stored(name, in: snapshot) else { return nil }
        return job.firstCommit > 0 && job.firstCommit <= last ? job.firstCommit...last : nil
    }

    /// Returns the record of a job, and the commit that wrote it.
    private static func stored(_ name: String, in snapshot: Snapshot) throws -> (job: ImportJob, commit: UInt64)? {
        let key = ImportJob.key(name, snapshot.header.hashKey)
        guard let span = try snapshot.view.get(snapshot.tables[.upkeep], key) else { return nil }
        return (try ImportJob(span, key: key), StoredValue.commit(head: span))
    }

    static func position(of name: String, in snapshot: Snapshot) throws -> Int {
        try find(name, in: snapshot)?.position ?? 0
    }

    static func advance(job name: String, in txn: inout WriteTransaction) throws {
        try advance(job: name, to: try position(of: name, in: txn.snapshot) + 1, in: &txn)
    }

    /// Sets the position of a job, unless it is further on already.
    static func advance(job name: String, to position: Int, in txn: inout WriteTransaction) throws {
        let known = try find(name, in: txn.snapshot)
        guard position > known?.position ?? 0 else { return }
        let key = ImportJob.key(name, txn.state.header.hashKey)
        let job = ImportJob(name: name, position: position, firstCommit: known?.firstCommit ?? txn.commit)
        try txn.put(.upkeep, key, job.value(key: key, stamp: txn.stamp))
    }

    static func all(in snapshot: Snapshot) throws -> [ImportJob] {
        var jobs: [ImportJob] = []
        try UpkeepKind.forEach(UpkeepKind.importJob, in: snapshot) { key, value in
            jobs.append(try ImportJob(value, key: key))
            return true
        }
        return jobs
    }

    /// Removes the records of all jobs.
    static func finishAll(in txn: inout WriteTransaction) throws {
        for job in try all(in: txn.snapshot) { try finish(job.name, in: &txn) }
    }

    /// Removes the record of a job.
    static func finish(_ name: String, in txn: inout WriteTransaction) throws {
        try txn.remove(.upkeep, key(name, txn.state.header.hashKey))
    }
}
