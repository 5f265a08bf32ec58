import ColumnFormat
import HealthModel

/// The progress of an import: a record in `upkeep`, written in the transaction of each batch.
struct ImportJob {
    var name: String
    /// The number of batches that are in the store.
    var position: Int

    private static func key(_ name: String, _ hashKey: KeyedHash) -> [UInt8] {
        [UpkeepKind.importJob] + PeerKey.text(name, hashKey)
    }

    func value(key: [UInt8], stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(name)
        record.append(UInt64(position))
        return record.value(table: .upkeep, key: key, stamp: stamp)
    }

    init(name: String, position: Int) {
        self.name = name
        self.position = position
    }

    init(_ span: RawSpan, key: [UInt8]) throws(FormatError) {
        var record = try RecordReader(span, table: .upkeep, key: key)
        name = try record.readText()
        position = Int(try record.read(UInt64.self) & (1 << 62 - 1))
    }
}

extension ImportJob {
    static func position(of name: String, in snapshot: Snapshot) throws -> Int {
        let key = ImportJob.key(name, snapshot.header.hashKey)
        guard let span = try snapshot.view.get(snapshot.tables[.upkeep], key) else { return 0 }
        return try ImportJob(span, key: key).position
    }

    static func advance(job name: String, in txn: inout WriteTransaction) throws {
        try advance(job: name, to: try position(of: name, in: txn.snapshot) + 1, in: &txn)
    }

    /// Sets the position of a job, unless it is further on already.
    static func advance(job name: String, to position: Int, in txn: inout WriteTransaction) throws {
        guard try position > ImportJob.position(of: name, in: txn.snapshot) else { return }
        let key = ImportJob.key(name, txn.state.header.hashKey)
        let job = ImportJob(name: name, position: position)
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
