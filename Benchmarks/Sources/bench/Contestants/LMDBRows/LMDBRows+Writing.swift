import CLMDBRows
import HealthKV

// SAFETY: see LMDBRows; buffers outlive each call.
extension LMDBRows {
    /// Replaces a row that the index knows, unless it is equal.
    func replace(_ row: NewRow, at place: Place, _ counts: inout ImportCounts, _ txn: OpaquePointer) throws {
        let (oldTable, table) = (tables[kinds[Int(place.kind)].type]!, tables[kinds[Int(row.kind)].type]!)
        try unsafe row.withValue(valueBuffer) { value in
            keyBuffer.setKey(start: place.start, id: row.id, hasIDs: true)
            var key = unsafe MDB_val(mv_size: 24, mv_data: keyBuffer.base)
            if place.start == row.start && place.kind == row.kind {
                var old = unsafe MDB_val()
                try unsafe LMDBFailure.check(mdb_get(txn, table, &key, &old))
                let oldBytes = unsafe UnsafeRawBufferPointer(start: old.mv_data, count: old.mv_size)
                let newBytes = unsafe UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
                if unsafe oldBytes.elementsEqual(newBytes) {
                    counts.unchanged += 1
                    return
                }
            } else {
                try unsafe LMDBFailure.check(mdb_del(txn, oldTable, &key, nil))
                keyBuffer.setKey(start: row.start, id: row.id, hasIDs: true)
            }
            try unsafe LMDBFailure.check(mdb_put(txn, table, &key, &value, 0))
            counts.replaced += 1
        }
        if place.start != row.start || place.kind != row.kind { try unsafe index(row, txn) }
    }

    /// Saves one sample durably, with a pending operation for a peer.
    func save(_ sample: Sample) throws { try unsafe writing { txn in try unsafe save(sample, txn) } }

    /// LMDB has a single writer, so one thread writes for all waiting threads.
    func save(_ samples: [Sample], from writers: Writers) throws -> Bool {
        guard writers == .threads else { return false }
        try GroupCommit.run(samples) { waiting in
            try unsafe writing { txn in for sample in waiting { try unsafe save(sample, txn) } }
        }
        return true
    }

    private func save(_ sample: Sample, _ txn: OpaquePointer) throws {
        let kind = try unsafe number(of: RowKind(sample), txn)
        var batch = SampleBatch()
        batch.append(sample)
        let row = try NewRow(
            id: sample.id, start: sample.start.nanoseconds, end: sample.end.nanoseconds,
            value: sample.quantity.value, kind: kind, extras: RowExtras.bytes(batch.extras[0]))
        try unsafe note(duration: row.end - row.start, of: sample.type, txn)
        try unsafe index(row, txn)
        try unsafe row.withValue(valueBuffer) { value in
            keyBuffer.setKey(start: row.start, id: row.id, hasIDs: true)
            var key = unsafe MDB_val(mv_size: 24, mv_data: keyBuffer.base)
            try unsafe LMDBFailure.check(mdb_put(txn, tables[sample.type]!, &key, &value, 0))
        }
        try unsafe enqueue(sample.id, txn)
    }

    /// Appends an operation to the queue.
    private func enqueue(_ id: SampleID, _ txn: OpaquePointer) throws {
        try unsafe scanning(pending, txn) { cursor in
            var (key, value) = unsafe (MDB_val(), MDB_val())
            var next: UInt64 = 1
            if unsafe mdb_cursor_get(cursor, &key, &value, MDB_LAST) == MDB_SUCCESS {
                next = unsafe UInt64(bigEndian: key.mv_data.loadUnaligned(as: UInt64.self)) + 1
            }
            keyBuffer.setSequence(next)
            valueBuffer.setID(id)
            unsafe key = unsafe MDB_val(mv_size: 8, mv_data: keyBuffer.base)
            unsafe value = unsafe MDB_val(mv_size: 16, mv_data: valueBuffer.base)
            try unsafe LMDBFailure.check(mdb_cursor_put(cursor, &key, &value, UInt32(MDB_APPEND)))
        }
    }

    /// Gives a sample another value, durably.
    func edit(_ id: SampleID, value: Double) throws {
        try unsafe writing { txn in
            guard let sample = try unsafe sample(id, txn) else { throw LMDBFailure(code: MDB_NOTFOUND) }
            let kind = try unsafe number(of: RowKind(sample), txn)
            var batch = SampleBatch()
            batch.append(sample)
            let row = try NewRow(
                id: id, start: sample.start.nanoseconds, end: sample.end.nanoseconds, value: value, kind: kind,
                extras: RowExtras.bytes(batch.extras[0]))
            try unsafe row.withValue(valueBuffer) { bytes in
                keyBuffer.setKey(start: row.start, id: id, hasIDs: true)
                var key = unsafe MDB_val(mv_size: 24, mv_data: keyBuffer.base)
                try unsafe LMDBFailure.check(mdb_put(txn, tables[sample.type]!, &key, &bytes, 0))
            }
        }
    }

    /// Removes a sample durably; returns `true` if it existed.
    func delete(_ id: SampleID) throws -> Bool {
        try unsafe writing { txn in
            guard let (type, start) = try unsafe place(of: id, txn), let table = tables[type] else { return false }
            if let text = try unsafe sample(id, txn)?.syncIdentifier { try unsafe index(text, id, .delete, txn) }
            keyBuffer.setKey(start: start, id: id, hasIDs: true)
            var key = unsafe MDB_val(mv_size: 24, mv_data: keyBuffer.base)
            try unsafe LMDBFailure.check(mdb_del(txn, table, &key, nil))
            keyBuffer.setID(id)
            unsafe key.mv_size = 16
            try unsafe LMDBFailure.check(mdb_del(txn, ids, &key, nil))
            return true
        }
    }

    /// A change of an entry in the index by sync identifier.
    enum Change { case put, delete }

    /// Adds an id under a sync identifier, or removes it.
    func index(_ text: String, _ id: SampleID, _ change: Change, _ txn: OpaquePointer) throws {
        var bytes = Array(text.utf8)
        let buffer = RowBuffer()
        buffer.setID(id)
        try unsafe bytes.withUnsafeMutableBytes { bytes in
            var key = unsafe MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
            var value = unsafe MDB_val(mv_size: 16, mv_data: buffer.base)
            switch change {
            case .put: try unsafe LMDBFailure.check(mdb_put(txn, syncs, &key, &value, 0))
            case .delete: try unsafe LMDBFailure.check(mdb_del(txn, syncs, &key, &value))
            }
        }
    }

    private func index(_ row: NewRow, _ txn: OpaquePointer) throws {
        let place = RowBuffer()
        keyBuffer.setID(row.id)
        place.setPlace(kind: row.kind, start: row.start)
        var key = unsafe MDB_val(mv_size: 16, mv_data: keyBuffer.base)
        var value = unsafe MDB_val(mv_size: RowLayout.indexBytes, mv_data: place.base)
        try unsafe LMDBFailure.check(mdb_put(txn, ids, &key, &value, 0))
    }
}
