import CLMDBRows
import HealthKV

// SAFETY: see LMDBRows; buffers outlive each call, returned values are read before the next write.
extension LMDBRows {
    /// Imports a batch in one durable commit; compares known rows and replaces those that differ.
    func importBatch(_ batch: SampleBatch) throws -> ImportCounts {
        try unsafe writing { txn in
            let numbers = try batch.kinds.map { try unsafe number(of: RowKind($0), txn) }
            let known = hasIDs ? try unsafe indexIDs(of: batch, numbers, txn) : [:]
            var counts = ImportCounts()
            for type in Set(batch.kinds.map(\.type)) {
                try unsafe putRows(of: type, batch, numbers, known, &counts, txn)
            }
            return counts
        }
    }

    /// Adds the batch's UUIDs to the index in sorted order, and returns the places of those that it already had.
    private func indexIDs(of batch: SampleBatch, _ numbers: [UInt16], _ txn: OpaquePointer) throws -> [Int: Place] {
        var order = (0..<batch.count).map { (id: batch.ids[$0], row: $0) }
        order.sort { $0.id < $1.id }
        var known: [Int: Place] = [:]
        try unsafe scanning(ids, txn) { cursor in
            var key = unsafe MDB_val(mv_size: 16, mv_data: keyBuffer.base)
            for (id, row) in order {
                keyBuffer.setID(id)
                valueBuffer.setPlace(kind: numbers[Int(batch.kindOfRow[row])], start: batch.starts[row])
                var value = unsafe MDB_val(mv_size: RowLayout.indexBytes, mv_data: valueBuffer.base)
                let code = unsafe mdb_cursor_put(cursor, &key, &value, UInt32(MDB_NOOVERWRITE))
                if code == MDB_KEYEXIST {
                    known[row] = unsafe Place(value)
                } else {
                    try LMDBFailure.check(code)
                }
            }
        }
        return known
    }

    /// Puts the rows of one type in the order of time, and appends them if they follow all existing rows.
    private func putRows(
        of type: SampleType, _ batch: SampleBatch, _ numbers: [UInt16], _ known: [Int: Place],
        _ counts: inout ImportCounts, _ txn: OpaquePointer
    ) throws {
        let kindsOfType = batch.kinds.map { $0.type == type }
        var rows = (0..<batch.count).filter { kindsOfType[Int(batch.kindOfRow[$0])] }
        let rowIDs: (Int) -> SampleID = { self.hasIDs ? batch.ids[$0] : batch.sample(at: $0).id }
        if !zip(rows, rows.dropFirst()).allSatisfy({ batch.starts[$0] < batch.starts[$1] }) {
            rows.sort { (batch.starts[$0], rowIDs($0)) < (batch.starts[$1], rowIDs($1)) }
        }
        guard !rows.isEmpty else { return }
        let table = tables[type]!
        var duration: Int64 = 0
        try unsafe scanning(table, txn) { cursor in
            for row in rows {
                let kind = Int(batch.kindOfRow[row])
                let new = try NewRow(
                    id: rowIDs(row), start: batch.starts[row], end: batch.ends[row], value: batch.values[row],
                    kind: numbers[kind], extras: RowExtras.bytes(batch.extras[row]))
                duration = max(duration, new.end - new.start)
                if let place = known[row] {
                    try unsafe replace(new, at: place, &counts, txn)
                } else {
                    try unsafe put(new, cursor, &counts)
                    if let text = batch.extras[row]?.syncIdentifier { try unsafe index(text, new.id, .put, txn) }
                }
            }
        }
        try unsafe note(duration: duration, of: type, txn)
    }

    /// Puts a row that the index lacks; without an index, an existing row is left unchanged.
    private func put(_ row: NewRow, _ cursor: OpaquePointer, _ counts: inout ImportCounts) throws {
        try unsafe row.withValue(valueBuffer) { value in
            keyBuffer.setKey(start: row.start, id: row.id, hasIDs: hasIDs)
            var key = unsafe MDB_val(mv_size: hasIDs ? 24 : 16, mv_data: keyBuffer.base)
            var code = unsafe mdb_cursor_put(cursor, &key, &value, UInt32(MDB_APPEND))
            if code == MDB_KEYEXIST {
                code = unsafe mdb_cursor_put(cursor, &key, &value, UInt32(MDB_NOOVERWRITE))
            }
            if code == MDB_KEYEXIST {
                counts.unchanged += 1
            } else {
                try LMDBFailure.check(code)
                counts.inserted += 1
            }
        }
    }
}

/// The place of a row according to the index.
struct Place {
    let kind: UInt16
    let start: Int64

    // SAFETY: an index value has exactly RowLayout.indexBytes.
    init(_ value: MDB_val) {
        unsafe start = value.mv_data.loadUnaligned(as: Int64.self)
        unsafe kind = value.mv_data.loadUnaligned(fromByteOffset: 8, as: UInt16.self)
    }
}

/// A row to be written.
struct NewRow {
    let id: SampleID
    let start: Int64
    let end: Int64
    let value: Double
    let kind: UInt16
    let extras: [UInt8]

    /// Passes the bytes of the value to `body`: the fixed part, then the rare fields.
    ///
    /// SAFETY: the bytes are valid while `body` runs.
    @inline(__always)
    func withValue<R>(_ buffer: RowBuffer, _ body: (inout MDB_val) throws -> R) rethrows -> R {
        buffer.setValue(end: end, value: value, kind: kind)
        if extras.isEmpty {
            var bytes = unsafe MDB_val(mv_size: RowLayout.valueBytes, mv_data: buffer.base)
            return try unsafe body(&bytes)
        }
        var joined = unsafe Array(UnsafeRawBufferPointer(start: buffer.base, count: RowLayout.valueBytes)) + extras
        return try unsafe joined.withUnsafeMutableBytes {
            var bytes = unsafe MDB_val(mv_size: $0.count, mv_data: $0.baseAddress)
            return try unsafe body(&bytes)
        }
    }
}
