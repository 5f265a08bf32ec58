import CLMDBRows
import HealthKV

extension LMDBRows: Contestant {
    func finishImport() {}

    func lookUp(_ ids: [SampleID], _ visit: (Int, UInt64, Sample?) -> Void) throws {
        try unsafe reading { txn in
            for (index, id) in ids.enumerated() {
                let from = Stopwatch.now()
                let found = try unsafe sample(id, txn)
                visit(index, Stopwatch.now() - from, found)
            }
        }
    }

    func range(_ type: SampleType, from: Instant, to: Instant) throws -> [Sample] {
        var found: [Sample] = []
        try unsafe reading { txn in
            try unsafe forEach(type, from: from, to: to, txn) {
                found.append($0)
                return true
            }
        }
        return found
    }

    func firstInRange(_ type: SampleType, from: Instant, to: Instant) throws -> Sample? {
        var found: Sample?
        try unsafe reading { txn in
            try unsafe forEach(type, from: from, to: to, txn) {
                found = $0
                return false
            }
        }
        return found
    }

    /// Rows have nothing that could be checked beyond their number in the index and in the tables.
    func check() throws {
        guard hasIDs else { return }
        let indexed = try unsafe reading { txn in
            var statistics = MDB_stat()
            try unsafe LMDBFailure.check(mdb_stat(txn, ids, &statistics))
            return Int(statistics.ms_entries)
        }
        if try indexed != count() { throw BenchFailure("LMDB rows: the index and the tables differ in number") }
    }
}
