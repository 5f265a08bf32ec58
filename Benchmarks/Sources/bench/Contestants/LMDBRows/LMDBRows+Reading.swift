import CLMDBRows
import HealthKV

// SAFETY: see LMDBRows; keys and values are read inside their transaction, at offsets that every row has.
extension LMDBRows {
    /// Whether values of a type have several units, so that columns must be converted.
    private func converts(_ type: SampleType) -> Bool {
        kinds.indices.contains { kinds[$0].type == type && targetUnits[$0] != nil }
    }

    /// The value of a row in its type's canonical unit.
    @inline(__always)
    private func canonical(_ value: MDB_val) -> Double {
        let kind = unsafe Int(value.mv_data.loadUnaligned(fromByteOffset: 16, as: UInt16.self))
        let number = unsafe value.mv_data.loadUnaligned(fromByteOffset: 8, as: Double.self)
        guard let target = targetUnits[kind] else { return number }
        return (try? kinds[kind].unit.convert(number, to: target)) ?? number
    }

    /// Times and values of a whole type in fresh arrays of the right size.
    func readAll(_ type: SampleType) throws -> Columns {
        guard let table = tables[type] else { return Columns(times: [], values: []) }
        let converts = converts(type)
        return try unsafe reading { txn in
            var statistics = MDB_stat()
            try unsafe LMDBFailure.check(mdb_stat(txn, table, &statistics))
            let count = Int(statistics.ms_entries)
            return try unsafe scanning(table, txn) { cursor in
                var times: [Int64] = []
                let values = unsafe [Double](unsafeUninitializedCapacity: count) { values, filled in
                    unsafe times = [Int64](unsafeUninitializedCapacity: count) { times, alsoFilled in
                        unsafe FreshPages.prepare(UnsafeRawBufferPointer(times))
                        unsafe FreshPages.prepare(UnsafeRawBufferPointer(values))
                        var (key, value) = unsafe (MDB_val(), MDB_val())
                        var row = 0
                        while row < count, unsafe mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS {
                            unsafe times[row] = RowLayout.start(key.mv_data.loadUnaligned(as: UInt64.self))
                            unsafe values[row] =
                                converts
                                ? canonical(value)
                                : value.mv_data.loadUnaligned(fromByteOffset: 8, as: Double.self)
                            row += 1
                        }
                        (filled, alsoFilled) = (row, row)
                    }
                }
                return Columns(times: times, values: values)
            }
        }
    }

    /// The sum over the rows of a type, read in place.
    func foldAll(_ type: SampleType) throws -> ColumnSum {
        var sum = ColumnSum()
        guard let table = tables[type] else { return sum }
        let converts = converts(type)
        try unsafe reading { txn in
            try unsafe scanning(table, txn) { cursor in
                var (key, value) = unsafe (MDB_val(), MDB_val())
                while unsafe mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS {
                    unsafe sum.add(
                        RowLayout.start(key.mv_data.loadUnaligned(as: UInt64.self)),
                        converts
                            ? canonical(value).bitPattern
                            : value.mv_data.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                }
            }
        }
        return sum
    }

    /// Passes each point of a type to `body`, in the order of time.
    private func forEachPoint(_ type: SampleType, _ body: (Int64, Double) -> Void) throws {
        guard let table = tables[type] else { return }
        let converts = converts(type)
        try unsafe reading { txn in
            try unsafe scanning(table, txn) { cursor in
                var (key, value) = unsafe (MDB_val(), MDB_val())
                while unsafe mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS {
                    unsafe body(
                        RowLayout.start(key.mv_data.loadUnaligned(as: UInt64.self)),
                        converts
                            ? canonical(value) : value.mv_data.loadUnaligned(fromByteOffset: 8, as: Double.self))
                }
            }
        }
    }

    func daySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums? {
        var adder = DayAdder(days)
        try forEachPoint(type) { adder.add($0, $1) }
        return adder.sums
    }

    func seriesPoints(_ type: SampleType, _ points: PointAxis) throws -> [SeriesPoint]? {
        var adder = PointAdder(points)
        try forEachPoint(type) { adder.add($0, $1) }
        return adder.found
    }

    /// The sample of an id, inside a read transaction.
    func sample(_ id: SampleID, _ txn: OpaquePointer) throws -> Sample? {
        guard let (type, start) = try unsafe place(of: id, txn), let table = tables[type] else { return nil }
        keyBuffer.setKey(start: start, id: id, hasIDs: hasIDs)
        var key = unsafe MDB_val(mv_size: hasIDs ? 24 : 16, mv_data: keyBuffer.base)
        var value = unsafe MDB_val()
        let code = unsafe mdb_get(txn, table, &key, &value)
        if code == MDB_NOTFOUND { return nil }
        try LMDBFailure.check(code)
        return try unsafe decode(key, value, id: id)
    }

    /// Type and start of an id: from the index, or from a derived id itself.
    func place(of id: SampleID, _ txn: OpaquePointer) throws -> (SampleType, Int64)? {
        guard hasIDs else {
            let bits = DerivedID.typeBits(of: id)
            let type = tables.keys.first {
                DerivedID.Prefix(type: $0, source: SourceIdentity(name: "")).type & 0xFFFF == bits
            }
            return type.map { ($0, DerivedID.start(of: id).nanoseconds) }
        }
        keyBuffer.setID(id)
        var key = unsafe MDB_val(mv_size: 16, mv_data: keyBuffer.base)
        var value = unsafe MDB_val()
        let code = unsafe mdb_get(txn, ids, &key, &value)
        if code == MDB_NOTFOUND { return nil }
        try LMDBFailure.check(code)
        let place = unsafe Place(value)
        return (kinds[Int(place.kind)].type, place.start)
    }

    /// Passes the samples that share an instant with the range to `body`, in the order of time, until it returns
    /// `false`.
    func forEach(
        _ type: SampleType, from: Instant, to: Instant, _ txn: OpaquePointer, _ body: (Sample) throws -> Bool
    ) throws {
        guard let table = tables[type] else { return }
        keyBuffer.setKey(start: (from - .nanoseconds(longest[type] ?? 0)).nanoseconds, id: .zero, hasIDs: hasIDs)
        try unsafe scanning(table, txn) { cursor in
            var key = unsafe MDB_val(mv_size: hasIDs ? 24 : 16, mv_data: keyBuffer.base)
            var value = unsafe MDB_val()
            var operation = MDB_SET_RANGE
            while unsafe mdb_cursor_get(cursor, &key, &value, operation) == MDB_SUCCESS {
                operation = MDB_NEXT
                let start = unsafe RowLayout.start(key.mv_data.loadUnaligned(as: UInt64.self))
                if start >= to.nanoseconds { break }
                let end = unsafe value.mv_data.loadUnaligned(as: Int64.self)
                if start < from.nanoseconds && end <= from.nanoseconds { continue }
                if try unsafe !body(decode(key, value, id: nil)) { break }
            }
        }
    }

    /// The sample with the latest start.
    func latest(_ type: SampleType) throws -> Sample? {
        guard let table = tables[type] else { return nil }
        return try unsafe reading { txn in
            try unsafe scanning(table, txn) { cursor in
                var (key, value) = unsafe (MDB_val(), MDB_val())
                guard unsafe mdb_cursor_get(cursor, &key, &value, MDB_LAST) == MDB_SUCCESS else { return nil }
                return try unsafe decode(key, value, id: nil)
            }
        }
    }

    /// The number of rows.
    func count() throws -> Int {
        try unsafe reading { txn in
            try tables.values.reduce(0) { sum, table in
                var statistics = MDB_stat()
                try unsafe LMDBFailure.check(mdb_stat(txn, table, &statistics))
                return sum + Int(statistics.ms_entries)
            }
        }
    }

    /// The whole sample of a row.
    private func decode(_ key: MDB_val, _ value: MDB_val, id known: SampleID?) throws -> Sample {
        let start = unsafe RowLayout.start(key.mv_data.loadUnaligned(as: UInt64.self))
        let end = unsafe value.mv_data.loadUnaligned(as: Int64.self)
        let number = unsafe value.mv_data.loadUnaligned(fromByteOffset: 8, as: Double.self)
        let kind = unsafe kinds[Int(value.mv_data.loadUnaligned(fromByteOffset: 16, as: UInt16.self))]
        let id: SampleID
        if let known {
            id = known
        } else if hasIDs {
            id = unsafe SampleID(
                high: UInt64(bigEndian: key.mv_data.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                low: UInt64(bigEndian: key.mv_data.loadUnaligned(fromByteOffset: 16, as: UInt64.self)))
        } else {
            id = DerivedID.id(
                DerivedID.Prefix(type: kind.type, source: kind.source.identity), start: start, end: end,
                value: DerivedID.canonical(number, kind.unit, of: kind.type), multiplicity: 0)
        }
        var sample = Sample(
            kind.type, number, kind.unit, from: Instant(nanoseconds: start), to: Instant(nanoseconds: end),
            source: kind.source, id: id, origin: kind.origin, isUserEntered: kind.isUserEntered)
        if unsafe value.mv_size > RowLayout.valueBytes {
            let extras = unsafe UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
            try unsafe RowExtras.apply(Array(extras[RowLayout.valueBytes...]), to: &sample)
        }
        return sample
    }
}
