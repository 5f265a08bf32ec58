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

    func lookUp(syncIdentifiers: [String], _ visit: (Int, UInt64, Sample?) -> Void) throws -> Bool {
        try unsafe reading { txn in
            for (index, text) in syncIdentifiers.enumerated() {
                let from = Stopwatch.now()
                let found = try unsafe first(syncIdentifier: text, txn).flatMap { try unsafe sample($0, txn) }
                visit(index, Stopwatch.now() - from, found)
            }
        }
        return true
    }

    private func first(syncIdentifier text: String, _ txn: OpaquePointer) throws -> SampleID? {
        var bytes = Array(text.utf8)
        return try unsafe bytes.withUnsafeMutableBytes { bytes in
            var key = unsafe MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
            var value = unsafe MDB_val()
            let code = unsafe mdb_get(txn, syncs, &key, &value)
            if code == MDB_NOTFOUND { return nil }
            try LMDBFailure.check(code)
            return unsafe SampleID(
                high: UInt64(bigEndian: value.mv_data.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: value.mv_data.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
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

    /// Rows have nothing to verify except their number in the index and in the tables.
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
