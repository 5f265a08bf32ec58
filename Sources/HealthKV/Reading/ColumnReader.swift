import ColumnFormat
import HealthModel
import LMDB

/// Buffers for the columns of one chunk.
private struct ColumnScratch: ~Copyable {
    var starts = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)
    var values = ScratchColumn<Double>(capacity: ChunkEncoder.rowLimit)
}

/// Reads times and values as columns.
enum ColumnReader {
    /// Calls `body` with the columns of samples that start in `from..<to`, a chunk at a time, in order of start within
    /// each duration class. Nearly all types have one class only, and then everything comes in order.
    static func foldColumns(
        _ type: UInt32, from: Instant, to: Instant, in snapshot: Snapshot,
        _ body: (Span<Int64>, Span<Double>) throws -> Void
    ) throws {
        var scratch = ColumnScratch()
        // Look this up once: it searches the catalog by name.
        let canonical = snapshot.unit(of: try NameTable.type(type, in: snapshot))
        if canonical == nil { _ = try uniqueUnit(type, in: snapshot) }
        for duration in DurationClass.allCases {
            let lane = Lane(type: type, duration: duration)
            let bounds = (from: Point.at(from.nanoseconds), to: to.upperPoint)
            try ChunkTable.forEachChunk(lane, from: bounds.from, to: bounds.to, in: snapshot) { chunk in
                guard chunk.rows > 0 else { return true }
                try decode(chunk, canonical, &scratch, in: snapshot)
                let range = rows(scratch.starts.span, from: bounds.from, to: bounds.to, in: snapshot)
                if !range.isEmpty {
                    try body(scratch.starts.span.extracting(range), scratch.values.span.extracting(range))
                }
                return true
            }
        }
    }

    /// Returns `true` if the chunk's columns can be used unchanged: all values are in the canonical unit, and no row is
    /// left out.
    private static func isPlain(_ chunk: HotChunk, _ canonical: HealthUnit?, in snapshot: Snapshot) throws -> Bool {
        guard chunk.shadowed == 0,
            !ChunkTable.mayHide(chunk.key.lane, chunk.key.lower.start...chunk.upper.start, in: snapshot),
            let number = try chunk.commonUnit()
        else { return false }
        return try canonical.map { try NameTable.number(of: $0, in: snapshot) == number } ?? true
    }

    /// Decodes row by row, converting units and leaving out rows.
    private static func decodeSlowly(_ chunk: HotChunk, _ scratch: inout ColumnScratch, in snapshot: Snapshot) throws {
        let rows = try ChunkTable.visibleRows(chunk, in: snapshot).filter { !$0.isShadowed }
        let unit = snapshot.unit(of: try NameTable.type(chunk.key.lane.type, in: snapshot))
        var values: [Double] = []
        values.reserveCapacity(rows.count)
        for row in rows {
            let own = try NameTable.unit(row.unit, in: snapshot)
            values.append(try unit.map { try own.convert(row.value, to: $0) } ?? row.value)
        }
        scratch.starts.refill { column in for row in rows { column.append(row.start) } }
        scratch.values.refill { column in for value in values { column.append(value) } }
    }

    /// Returns the rows of ascending `starts` between two points of time.
    private static func rows(_ starts: Span<Int64>, from: Point, to: Point, in snapshot: Snapshot) -> Range<Int> {
        func firstRow(_ isBefore: (Int64) -> Bool) -> Int {
            (0..<starts.count).firstIndex(notPreceding: { isBefore(starts[$0]) })
        }
        if starts.count == 0 { return 0..<0 }
        let first = starts[0] >= from.start ? 0 : firstRow { $0 < from.start }
        let last = to == .greatest || starts[starts.count - 1] < to.start ? starts.count : firstRow { $0 < to.start }
        return first..<max(first, last)
    }

    /// Reads times and values row by row, for queries that columns alone cannot decide.
    static func series(_ type: UInt32, _ query: SampleQuery, limit: Int, in snapshot: Snapshot) throws -> Series {
        let unit = try snapshot.unit(of: NameTable.type(type, in: snapshot)) ?? uniqueUnit(type, in: snapshot)
        var series = Series(times: [], values: [], unit: unit)
        if limit == 0 { return series }
        try QueryRows.forEachRow(of: type, query, wanted: limit, in: snapshot) { row, _ in
            series.times.append(row.start)
            let own = try NameTable.unit(row.unit, in: snapshot)
            series.values.append(try unit.map { try own.convert(row.value, to: $0) } ?? row.value)
            return series.count < limit
        }
        return series
    }

    /// Decodes whole columns directly into arrays.
    static func series(_ type: UInt32, from: Instant, to: Instant, in snapshot: Snapshot) throws -> Series {
        let unit = try snapshot.unit(of: NameTable.type(type, in: snapshot)) ?? uniqueUnit(type, in: snapshot)
        guard from < to else { return Series(times: [], values: [], unit: unit) }
        let capacity = try rowBound(type, from: from, to: to, in: snapshot)
        var lanes = 0
        var columns: (times: [Int64], values: [Double]) = try makeColumns(capacity: capacity) { times, values in
            for duration in DurationClass.allCases {
                let before = times.count
                try appendColumns(
                    Lane(type: type, duration: duration), from: from, to: to, &times, &values, in: snapshot)
                if times.count > before { lanes += 1 }
            }
        }
        if lanes > 1 { ColumnReader.sortByTime(&columns) }
        return Series(times: columns.times, values: columns.values, unit: unit)
    }

    private static func appendColumns(
        _ lane: Lane, from: Instant, to: Instant, _ times: inout OutputColumn<Int64>,
        _ values: inout OutputColumn<Double>, in snapshot: Snapshot
    ) throws {
        var scratch = ColumnScratch()
        let canonical = snapshot.unit(of: try NameTable.type(lane.type, in: snapshot))
        let bounds = (from: Point.at(from.nanoseconds), to: to.upperPoint)
        // A loop instead of `forEachChunk`: a closure cannot capture inout columns that do not escape.
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        var found = try ChunkTable.seek(&cursor, lane, bounds.from, in: snapshot)
        let isEmpty = !found
        var expected: Point?
        while found {
            try snapshot.context.checkTime()
            let chunk = try HotChunk(cursor.value, key: cursor.key)
            guard chunk.key.lane == lane, chunk.key.lower < bounds.to else { break }
            // Prefetch the next value while this one is decoded.
            found = try cursor.next()
            if found { prefetch(cursor.value) }
            if let expected, chunk.key.lower != expected { throw snapshot.damaged(.chunkMissing) }
            expected = chunk.upper
            if chunk.rows > 0 {
                // The capacity of the arrays comes from the counts. Wrong counts must not crash the process.
                guard chunk.rows <= times.room else { throw snapshot.damaged(.countsWrong) }
                let inside = bounds.from <= chunk.key.lower && chunk.upper <= bounds.to
                if inside, try isPlain(chunk, canonical, in: snapshot) {
                    try chunk.verify()
                    try chunk.decodeStarts(into: &times)
                    try chunk.decodeValues(into: &values)
                } else {
                    try appendPart(chunk, bounds, canonical, &scratch, &times, &values, in: snapshot)
                }
            }
        }
        // The last chunk of a lane owns everything after it.
        if !isEmpty, (expected ?? .least) < min(bounds.to, .greatest) { throw snapshot.damaged(.chunkMissing) }
    }

    /// Decodes the starts and values of a chunk into the scratch columns.
    private static func decode(
        _ chunk: HotChunk, _ canonical: HealthUnit?, _ scratch: inout ColumnScratch, in snapshot: Snapshot
    ) throws {
        if try isPlain(chunk, canonical, in: snapshot) {
            try chunk.verify()
            try scratch.starts.refill { column in try chunk.decodeStarts(into: &column) }
            try scratch.values.refill { column in try chunk.decodeValues(into: &column) }
        } else {
            try decodeSlowly(chunk, &scratch, in: snapshot)
        }
    }

    private static func appendPart(
        _ chunk: HotChunk, _ bounds: (from: Point, to: Point), _ canonical: HealthUnit?, _ scratch: inout ColumnScratch,
        _ times: inout OutputColumn<Int64>, _ values: inout OutputColumn<Double>, in snapshot: Snapshot
    ) throws {
        try decode(chunk, canonical, &scratch, in: snapshot)
        let range = rows(scratch.starts.span, from: bounds.from, to: bounds.to, in: snapshot)
        times.append(scratch.starts.span, range)
        values.append(scratch.values.span, range)
    }

    /// Returns an upper bound for the number of rows in a range, as the capacity of the arrays.
    private static func rowBound(_ type: UInt32, from: Instant, to: Instant, in snapshot: Snapshot) throws -> Int {
        if from == .distantPast, to == .distantFuture {
            let most = try snapshot.view.count(snapshot.tables[.chunks]) * ChunkEncoder.rowLimit
            return min(max(0, try SummaryTable.counts(of: type, in: snapshot).rowsInChunks), most)
        }
        var rows = 0
        for duration in DurationClass.allCases {
            try ChunkTable.forEachChunk(
                Lane(type: type, duration: duration), from: .at(from.nanoseconds), to: to.upperPoint, in: snapshot
            ) { chunk in
                rows += chunk.rows
                return true
            }
        }
        return rows
    }

    /// Returns the unit that all samples share of a type without a canonical unit.
    private static func uniqueUnit(_ type: UInt32, in snapshot: Snapshot) throws -> HealthUnit? {
        var units: Set<UInt32> = []
        for duration in DurationClass.allCases {
            try ChunkTable.forEachChunk(Lane(type: type, duration: duration), from: .least, to: .greatest, in: snapshot)
            { chunk in
                guard chunk.rows > 0 else { return true }
                if ChunkTable.mayHide(chunk.key.lane, chunk.key.lower.start...chunk.upper.start, in: snapshot) {
                    for row in try ChunkTable.visibleRows(chunk, in: snapshot) { units.insert(row.unit) }
                    return true
                }
                guard let unit = try chunk.commonUnit() else {
                    throw StoreError(
                        .mixedUnits, path: snapshot.context.path, "A type without canonical unit has several units")
                }
                units.insert(unit)
                return true
            }
        }
        guard units.count <= 1 else {
            throw StoreError(
                .mixedUnits, path: snapshot.context.path, "A type without canonical unit has several units")
        }
        return try units.first.map { try NameTable.unit($0, in: snapshot) }
    }

    /// Sorts the columns of several duration classes by time.
    private static func sortByTime(_ columns: inout (times: [Int64], values: [Double])) {
        let times = columns.times
        let values = columns.values
        let order = times.indices.sorted { (times[$0], $0) < (times[$1], $1) }
        columns = (order.map { times[$0] }, order.map { values[$0] })
    }
}

extension Instant {
    /// The exclusive upper point for samples that start in a half-open range.
    var upperPoint: Point { self == .distantFuture ? .greatest : .at(nanoseconds) }
}
