import ColumnFormat
import HealthModel

/// A kind of a batch, with its names resolved to numbers.
struct ImportKind {
    var type: UInt32
    var unit: UInt32
    var revision: UInt32
    var flags: StoredRow.Flags
    /// The number of the device, or 0.
    var device: UInt32
    var prefix: DerivedID.Prefix
    /// How values become the numbers from which ids derive.
    var derivedUnit: DerivedUnit
    var sampleType: SampleType
    var sampleUnit: HealthUnit
}

/// The hash of one identifier of a row. Sorted by hash, a whole batch is compared with the index in one pass.
struct HashedRow {
    /// 40 bits.
    var hash: UInt64
    var row: UInt32

    /// Sorts by hash in four radix passes of eleven bits each; a comparison sort would cost more than all other steps.
    static func sort(_ rows: inout [HashedRow]) {
        if rows.count < 64 {
            rows.sort { $0.hash < $1.hash }
            return
        }
        var other = rows
        for pass in 0..<4 {
            let shift = UInt64(pass * 11)
            var places = [Int](repeating: 0, count: 2_049)
            for row in rows { places[Int(truncatingIfNeeded: row.hash >> shift & 2_047) + 1] += 1 }
            for index in 1...2_048 { places[index] += places[index - 1] }
            for row in rows {
                let digit = Int(truncatingIfNeeded: row.hash >> shift & 2_047)
                other[places[digit]] = row
                places[digit] += 1
            }
            swap(&rows, &other)
        }
    }
}

/// Which rows of a batch can go directly into chunks, and in which order.
struct ImportPlan {
    var kinds: [ImportKind]
    var ids: [SampleID]
    /// The hashes of all ids and sync identifiers, sorted.
    var hashes: [HashedRow] = []
    /// Rows that may already be stored, or that share an identity with another row of the batch of which it cannot be
    /// told at once which one stays. They are saved one by one, unless they are settled.
    var careful: [Bool]
    /// Careful rows of which nothing is left to do: the store holds them with the same content, or another row of the
    /// batch is the same sample and stays.
    var settled: [Bool]
    /// In a batch with ids: the rows whose id derives from their content, as in a dump of samples that were imported
    /// without ids. Such an id is not stored. Empty if there are none.
    var derived: [Bool] = []
    /// The numbers given to identical rows without a UUID. The first of such rows has number 0 and is not listed.
    var multiplicities: [Int: Int] = [:]
}

extension SampleBatch {
    /// Returns `true` if a row carries more than the columns of the batch hold, or a clock that takes part in the
    /// comparison with a stored row.
    func saysMore(_ row: Int) -> Bool { extras[row] != nil || !clocks.isEmpty && clocks[row] != nil }

    /// Whether every row meets the conditions for being stored.
    package var isStorable: Bool { (try? validate()) != nil }

    /// Validates every row.
    ///
    /// - Throws: the error of the first row that fails.
    func validate() throws {
        for kind in kinds {
            if let unit = kind.type.canonicalUnit, !unit.isCompatible(with: kind.unit) {
                throw ModelError.incompatibleUnits(from: kind.unit.symbol, to: unit.symbol)
            }
            var sample = Sample(kind.type, 0, kind.unit, at: Instant(nanoseconds: 0), source: kind.source)
            sample.device = kind.device
            try sample.validate()
        }
        let range = Instant.earliest.nanoseconds..<Instant.latest.nanoseconds
        for row in 0..<count {
            let (start, end) = (starts[row], ends[row])
            guard range.contains(start), range.contains(end) || end == .max else { throw ModelError.instantOutOfRange }
            guard start <= end else { throw ModelError.startAfterEnd }
        }
        if ids.contains(.zero) { throw ModelError.zeroIdentifier }
        let isCategory = kinds.map { $0.type.kind == .category }
        if isCategory.contains(true) {
            for row in 0..<count where isCategory[Int(kindOfRow[row])] && Int32(exactly: values[row]) == nil {
                throw ModelError.numberOutOfRange(field: "category value")
            }
        }
        let isWorkout = kinds.map { $0.type.kind == .workout }
        if isWorkout.contains(true) {
            for row in 0..<count where isWorkout[Int(kindOfRow[row])] && ends[row] == .max && values[row].isNaN {
                throw ModelError.durationMissing
            }
        }
        try validateValues()
        for (row, rare) in extras {
            // Check this before ids are derived from it.
            if try !rare.validate() { try sample(at: row).validate() }
        }
    }
}

extension SampleBatch {
    /// Refuses values that are not finite, either as entered or in the unit in which their type is summed.
    private func validateValues() throws {
        guard values.contains(where: { !(abs($0) <= Sample.greatestConverted) }) else { return }
        for row in 0..<count where !(abs(values[row]) <= Sample.greatestConverted) {
            let kind = kinds[Int(kindOfRow[row])]
            let value = try Quantity(values[row], kind.unit).value(in: kind.type.canonicalUnit ?? kind.unit)
            guard values[row].isFinite, value.isFinite else { throw ModelError.notFinite(field: "value") }
        }
    }
}

extension ImportPlan {
    /// Returns the derived id of each row, without numbering identical rows; see ``numberTwins(_:)``.
    static func derivedIDs(_ batch: SampleBatch, _ kinds: [ImportKind]) -> [SampleID] {
        var ids: [SampleID] = []
        ids.reserveCapacity(batch.count)
        for row in 0..<batch.count {
            ids.append(derivedID(batch, kinds, row, multiplicity: batch.extras[row]?.multiplicity ?? 0))
        }
        return ids
    }

    /// Gives identical rows of a batch different ids, in the order of the rows. Identical rows have equal hashes, so
    /// they are adjacent in the sorted list.
    mutating func numberTwins(_ batch: SampleBatch) {
        var index = 0
        while index < hashes.count {
            var end = index + 1
            while end < hashes.count, hashes[end].hash == hashes[index].hash { end += 1 }
            var seen: [SampleID: Int] = [:]
            for hashed in hashes[index..<end] where end - index > 1 {
                let row = Int(hashed.row)
                let id = ids[row]
                let earlier = seen[id, default: 0]
                seen[id] = earlier + 1
                guard earlier > 0 else { continue }
                let multiplicity = (batch.extras[row]?.multiplicity ?? 0) + earlier
                multiplicities[row] = multiplicity
                ids[row] = ImportPlan.derivedID(batch, kinds, row, multiplicity: multiplicity)
            }
            index = end
        }
    }

    /// Finds ids that derive from their content. An id that has the form of a derived id but does not match the content
    /// belongs to a sample that was edited elsewhere. This store may hold that sample unedited, without an entry in the
    /// index, so the row is marked as careful.
    mutating func markDerived(_ batch: SampleBatch) {
        for row in 0..<batch.count where DerivedID.isDerived(ids[row]) {
            let multiplicity = batch.extras[row]?.multiplicity ?? 0
            if ImportPlan.derivedID(batch, kinds, row, multiplicity: multiplicity) != ids[row] {
                careful[row] = true
            } else {
                if derived.isEmpty { derived = [Bool](repeating: false, count: batch.count) }
                derived[row] = true
            }
        }
    }

    static func derivedID(_ batch: SampleBatch, _ kinds: [ImportKind], _ row: Int, multiplicity: Int) -> SampleID {
        let kind = Int(batch.kindOfRow[row])
        return DerivedID.id(
            kinds[kind].prefix, start: batch.starts[row], end: batch.ends[row],
            value: kinds[kind].derivedUnit.canonical(batch.values[row]), multiplicity: multiplicity)
    }

    /// Returns the rows that are not careful, by lane, in the total order.
    func lanes(_ batch: SampleBatch) -> [(lane: Lane, rows: [UInt32])] {
        var rowsOfLane: [Lane: [UInt32]] = [:]
        var lists: [[UInt32]] = []
        var numbers: [Int] = Array(repeating: -1, count: kinds.count * 4)
        var lanes: [Lane] = []
        for row in 0..<batch.count where !careful[row] {
            let kind = Int(batch.kindOfRow[row])
            let duration = DurationClass(start: batch.starts[row], end: batch.ends[row])
            let slot = kind * 4 + Int(duration.rawValue)
            if numbers[slot] < 0 {
                let lane = Lane(type: kinds[kind].type, duration: duration)
                if let known = lanes.firstIndex(of: lane) {
                    numbers[slot] = known
                } else {
                    numbers[slot] = lanes.count
                    lanes.append(lane)
                    lists.append([])
                }
            }
            lists[numbers[slot]].append(UInt32(row))
        }
        for (index, lane) in lanes.enumerated() { rowsOfLane[lane] = sorted(lists[index], batch) }
        return rowsOfLane.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func sorted(_ rows: [UInt32], _ batch: SampleBatch) -> [UInt32] {
        func isBefore(_ left: UInt32, _ right: UInt32) -> Bool {
            let (l, r) = (Int(left), Int(right))
            if batch.starts[l] != batch.starts[r] { return batch.starts[l] < batch.starts[r] }
            if batch.ends[l] != batch.ends[r] { return batch.ends[l] < batch.ends[r] }
            return ids[l] < ids[r]
        }
        for index in 1..<max(1, rows.count) where isBefore(rows[index], rows[index - 1]) {
            return rows.sorted(by: isBefore)
        }
        return rows
    }
}
