import HealthKV

extension SQLiteRows {
    private static let insertion =
        "INSERT INTO samples VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT(id) DO NOTHING"

    /// Imports a batch in one durable commit; compares known rows and replaces those that differ.
    func importBatch(_ batch: SampleBatch) throws -> ImportCounts {
        if !isImporting {
            isImporting = true
            // Checkpoint after a GB of log, so that a page that several batches change is written once.
            try execute("PRAGMA wal_autocheckpoint = 250000")
        }
        return try writing {
            let insertion = try statement(SQLiteRows.insertion)
            let numbers = batch.kinds.map { book.number(of: RowKind($0)) }
            let types = numbers.map { book.typeNumber(ofKind: $0) }
            var counts = ImportCounts()
            for row in batch.rowsByTime() {
                let kind = Int(batch.kindOfRow[row])
                let fields = try RowFields(batch, row: row, kind: numbers[kind])
                book.note(duration: fields.end - fields.start, ofType: types[kind])
                if try insert(fields, type: types[kind], insertion) {
                    counts.inserted += 1
                } else if try isEqual(fields) {
                    counts.unchanged += 1
                } else {
                    try statement("DELETE FROM samples WHERE id = ?1").bind(fields.id, 1).run()
                    _ = try insert(fields, type: types[kind], insertion)
                    counts.replaced += 1
                }
            }
            return counts
        }
    }

    /// Returns `true` if the id was new.
    @inline(__always)
    private func insert(_ row: RowFields, type: UInt16, _ statement: SQLiteStatement) throws -> Bool {
        statement.bind(Int64(type), 1).bind(row.start, 2).bind(row.id, 3).bind(row.end, 4).bind(row.value, 5)
        statement.bind(Int64(row.kind), 6).bind(row.sync, 7).bind(row.extras, 8)
        try statement.run()
        return changes == 1
    }

    /// Whether the existing row of an id has the same content.
    private func isEqual(_ row: RowFields) throws -> Bool {
        guard let old = try self.row(row.id) else { return false }
        return old.start == row.start && old.end == row.end && old.value.bitPattern == row.value.bitPattern
            && old.kind == row.kind && old.sync == row.sync && old.extras == row.extras
    }

    /// Saves one sample durably, with a pending operation for a peer.
    func save(_ sample: Sample) throws { try save(together: [sample]) }

    private func save(together samples: [Sample]) throws {
        try writing {
            let insertion = try statement(SQLiteRows.insertion)
            for sample in samples {
                var batch = SampleBatch()
                batch.append(sample)
                let kind = book.number(of: RowKind(sample))
                let row = try RowFields(batch, row: 0, kind: kind)
                let type = book.typeNumber(ofKind: kind)
                book.note(duration: row.end - row.start, ofType: type)
                guard try insert(row, type: type, insertion) else {
                    throw BenchFailure("SQLite: a new sample was there already")
                }
                try statement("INSERT INTO pending(id) VALUES(?1)").bind(sample.id, 1).run()
            }
        }
    }

    /// SQLite has a single writer, so one thread writes for all waiting threads.
    func save(_ samples: [Sample], from writers: Writers) throws -> Bool {
        guard writers == .threads else { return false }
        try GroupCommit.run(samples) { try save(together: $0) }
        return true
    }

    /// Gives a sample another value, durably.
    func edit(_ id: SampleID, value: Double) throws {
        try writing {
            try statement("UPDATE samples SET value = ?1 WHERE id = ?2").bind(value, 1).bind(id, 2).run()
            if changes != 1 { throw BenchFailure("edit: a sample is missing") }
        }
    }

    /// Removes a sample durably; returns `true` if it existed.
    func delete(_ id: SampleID) throws -> Bool {
        try writing {
            try statement("DELETE FROM samples WHERE id = ?1").bind(id, 1).run()
            return changes == 1
        }
    }
}
