import ColumnFormat
import HealthModel
import LMDB

/// Buffers for the columns of one chunk.
private struct ColumnScratch: ~Copyable {
    var starts = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)
    var values = ScratchColumn<Double>(capacity: ChunkEncoder.rowLimit)
}

extension Snapshot {
    /// Calls `body` with the columns of samples that start in `from..<to`, a chunk at a time, in order of start within
    /// each duration class. Nearly all types have one class only, and then everything comes in order.
    func foldColumns(
        _ type: UInt32, from: Instant, to: Instant, _ body: (Span<Int64>, Span<Double>) throws -> Void
    ) throws {
        var scratch = ColumnScratch()
        // Look this up once: it searches the catalog by name.
        let canonical = try self.type(type).canonicalUnit
        if canonical == nil { _ = try uniqueUnit(type) }
        for duration in DurationClass.allCases {
            let lane = Lane(type: type, duration: duration)
            let bounds = (from: Point.at(from.nanoseconds), to: to.upperPoint)
            try forEachChunk(lane, from: bounds.from, to: bounds.to) { chunk in
                guard chunk.rows > 0 else { return true }
                if try isPlain(chunk, canonical) {
                    try chunk.verify()
                    try scratch.starts.refill { column in try chunk.decodeStarts(into: &column) }
                    try scratch.values.refill { column in try chunk.decodeValues(into: &column) }
                } else {
                    try decodeSlowly(chunk, &scratch)
                }
                let range = rows(scratch.starts.span, from: bounds.from, to: bounds.to)
                if !range.isEmpty {
                    try body(scratch.starts.span.extracting(range), scratch.values.span.extracting(range))
                }
                return true
            }
        }
    }

    /// Returns `true` if the chunk's columns can be used unchanged: all values are in the canonical unit, and no row is
    /// left out.
    private func isPlain(_ chunk: HotChunk, _ canonical: HealthUnit?) throws -> Bool {
        guard chunk.shadowed == 0, !mayHide(chunk.key.lane, chunk.key.lower.start...chunk.upper.start),
            let number = try chunk.commonUnit()
        else { return false }
        return try canonical.map { try self.number(of: $0) == number } ?? true
    }

    /// Decodes row by row, converting units and leaving out rows.
    private func decodeSlowly(_ chunk: HotChunk, _ scratch: inout ColumnScratch) throws {
        let rows = try visibleRows(chunk).filter { !$0.isShadowed }
        let unit = try type(chunk.key.lane.type).canonicalUnit
        var values: [Double] = []
        values.reserveCapacity(rows.count)
        for row in rows {
            let own = try self.unit(row.unit)
            values.append(try unit.map { try own.convert(row.value, to: $0) } ?? row.value)
        }
        scratch.starts.refill { column in for row in rows { column.append(row.start) } }
        scratch.values.refill { column in for value in values { column.append(value) } }
    }

    /// Returns the rows of ascending `starts` between two points of time.
    private func rows(_ starts: Span<Int64>, from: Point, to: Point) -> Range<Int> {
        func firstRow(_ isBefore: (Int64) -> Bool) -> Int {
            var low = 0
            var high = starts.count
            while low < high {
                let middle = (low + high) / 2
                if isBefore(starts[middle]) { low = middle + 1 } else { high = middle }
            }
            return low
        }
        if starts.count == 0 { return 0..<0 }
        let first = starts[0] >= from.start ? 0 : firstRow { $0 < from.start }
        let last = to == .greatest || starts[starts.count - 1] < to.start ? starts.count : firstRow { $0 < to.start }
        return first..<max(first, last)
    }

    /// Decodes whole columns directly into arrays.
    func series(_ type: UInt32, from: Instant, to: Instant) throws -> Series {
        let unit = try self.type(type).canonicalUnit ?? uniqueUnit(type)
        guard from < to else { return Series(times: [], values: [], unit: unit) }
        let capacity = try rowBound(type, from: from, to: to)
        var lanes = 0
        var columns: (times: [Int64], values: [Double]) = try makeColumns(capacity: capacity) { times, values in
            for duration in DurationClass.allCases {
                let before = times.count
                try appendColumns(Lane(type: type, duration: duration), from: from, to: to, &times, &values)
                if times.count > before { lanes += 1 }
            }
        }
        if lanes > 1 { Snapshot.sortByTime(&columns) }
        return Series(times: columns.times, values: columns.values, unit: unit)
    }

    private func appendColumns(
        _ lane: Lane, from: Instant, to: Instant, _ times: inout OutputColumn<Int64>,
        _ values: inout OutputColumn<Double>
    ) throws {
        var scratch = ColumnScratch()
        let canonical = try type(lane.type).canonicalUnit
        let bounds = (from: Point.at(from.nanoseconds), to: to.upperPoint)
        // A loop instead of `forEachChunk`: a closure cannot capture inout columns that do not escape.
        var cursor = try view.cursor(tables[.chunks])
        var found = try seek(&cursor, lane, bounds.from)
        let isEmpty = !found
        var expected: Point?
        while found {
            try context.checkTime()
            let chunk = try HotChunk(cursor.value, key: cursor.key)
            guard chunk.key.lane == lane, chunk.key.lower < bounds.to else { break }
            // Prefetch the next value while this one is decoded.
            found = try cursor.next()
            if found { prefetch(cursor.value) }
            if let expected, chunk.key.lower != expected { throw damaged("a chunk is missing") }
            expected = chunk.upper
            if chunk.rows > 0 {
                // The capacity of the arrays comes from the counts. Wrong counts must not crash the process.
                guard chunk.rows <= times.room else { throw damaged("the counts of a type are wrong") }
                let inside = bounds.from <= chunk.key.lower && chunk.upper <= bounds.to
                if inside, try isPlain(chunk, canonical) {
                    try chunk.verify()
                    try chunk.decodeStarts(into: &times)
                    try chunk.decodeValues(into: &values)
                } else {
                    try appendPart(chunk, bounds, canonical, &scratch, &times, &values)
                }
            }
        }
        // The last chunk of a lane owns everything after it.
        if !isEmpty, (expected ?? .least) < min(bounds.to, .greatest) { throw damaged("a chunk is missing") }
    }

    private func appendPart(
        _ chunk: HotChunk, _ bounds: (from: Point, to: Point), _ canonical: HealthUnit?, _ scratch: inout ColumnScratch,
        _ times: inout OutputColumn<Int64>, _ values: inout OutputColumn<Double>
    ) throws {
        if try isPlain(chunk, canonical) {
            try chunk.verify()
            try scratch.starts.refill { column in try chunk.decodeStarts(into: &column) }
            try scratch.values.refill { column in try chunk.decodeValues(into: &column) }
        } else {
            try decodeSlowly(chunk, &scratch)
        }
        let range = rows(scratch.starts.span, from: bounds.from, to: bounds.to)
        times.append(scratch.starts.span, range)
        values.append(scratch.values.span, range)
    }

    /// Returns an upper bound for the number of rows in a range, as the capacity of the arrays.
    private func rowBound(_ type: UInt32, from: Instant, to: Instant) throws -> Int {
        if from == .distantPast, to == .distantFuture {
            let most = try view.statistics(tables[.chunks]).entries * ChunkEncoder.rowLimit
            return min(max(0, try counts(of: type).rowsInChunks), most)
        }
        var rows = 0
        for duration in DurationClass.allCases {
            try forEachChunk(
                Lane(type: type, duration: duration), from: .at(from.nanoseconds), to: to.upperPoint
            ) { chunk in
                rows += chunk.rows
                return true
            }
        }
        return rows
    }

    /// Returns the unit that all samples share of a type without a canonical unit.
    private func uniqueUnit(_ type: UInt32) throws -> HealthUnit? {
        var units: Set<UInt32> = []
        for duration in DurationClass.allCases {
            try forEachChunk(Lane(type: type, duration: duration), from: .least, to: .greatest) { chunk in
                guard chunk.rows > 0 else { return true }
                if mayHide(chunk.key.lane, chunk.key.lower.start...chunk.upper.start) {
                    for row in try visibleRows(chunk) { units.insert(row.unit) }
                    return true
                }
                guard let unit = try chunk.commonUnit() else {
                    throw StoreError(.mixedUnits, path: context.path, "A type without canonical unit has several units")
                }
                units.insert(unit)
                return true
            }
        }
        guard units.count <= 1 else {
            throw StoreError(.mixedUnits, path: context.path, "A type without canonical unit has several units")
        }
        return try units.first.map { try unit($0) }
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
