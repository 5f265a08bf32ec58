import ColumnFormat
import HealthModel

/// Rows of one batch that are one sample of which the store holds nothing. An export holds a record at the top level
/// and once more in each of its correlations, and an app may have written a sample in several versions. Saved one by
/// one, each such row would write its whole chunk. Instead the row that wins (SEMANTICS C1) is inserted like any new
/// one, and the others are left out. What is stored and counted is the same.
struct BatchCopies {
    /// The rows that were left out. They are marked as careful and settled.
    private(set) var losers: [Int] = []
    /// The rows that won over an earlier row with another id, and keep that id.
    private(set) var renamed: [Int] = []
    /// What became of all rows of a sample but the first. That one counts as inserted, with the row that won.
    private(set) var report = ImportReport()

    /// Finds the rows of a batch that share an identity. Those of which one can be chosen here become one row; the
    /// others are marked as careful.
    ///
    /// - Parameter plan: its hashes are sorted, and the rows whose identity the store may know are careful.
    static func fold(
        _ batch: SampleBatch, _ plan: inout ImportPlan, in txn: borrowing WriteTransaction
    ) throws -> BatchCopies {
        var (sets, copies) = (RowSets(), BatchCopies())
        for index in 1..<max(1, plan.hashes.count) where plan.hashes[index - 1].hash == plan.hashes[index].hash {
            let (row, other) = (Int(plan.hashes[index - 1].row), Int(plan.hashes[index].row))
            sets.join(row, other)
            // Two identifiers of one row have the same hash by chance.
            if row == other { plan.careful[row] = true }
        }
        if sets.isEmpty { return copies }
        // What an unfinished mass operation removes may not be in the index.
        let isPlain = !batch.derivesIDs && txn.state.intents.isEmpty
        var open: [[Int]] = []
        for rows in sets.all() {
            if isPlain, try isOneSample(rows, of: batch, plan, in: txn.snapshot) {
                open.append(rows)
            } else {
                for row in rows { plan.careful[row] = true }
            }
        }
        let held = try heldRows(open, of: batch, plan, in: txn.snapshot)
        for rows in open {
            if rows.contains(where: { held.contains($0) }) {
                for row in rows { plan.careful[row] = true }
            } else {
                copies.choose(rows, of: batch, &plan, in: txn)
            }
        }
        return copies
    }

    /// Returns `true` if each of some rows would replace the one before, or give way to it: all have one id, or one
    /// sync identifier within one type and source. They are imports with a clock and without an edit, and the index
    /// knows none of them.
    private static func isOneSample(
        _ rows: [Int], of batch: SampleBatch, _ plan: ImportPlan, in snapshot: Snapshot
    ) throws -> Bool {
        guard rows.count > 1 else { return false }
        let head = plan.kinds[Int(batch.kindOfRow[rows[0]])]
        let source = try NameTable.revision(head.revision, in: snapshot).sourceNumber
        let (id, text) = (plan.ids[rows[0]], batch.extras[rows[0]]?.syncIdentifier)
        var (haveID, haveText) = (true, text != nil)
        for row in rows {
            let (kind, rare) = (plan.kinds[Int(batch.kindOfRow[row])], batch.extras[row])
            let number = try NameTable.revision(kind.revision, in: snapshot).sourceNumber
            guard !plan.careful[row], kind.flags.contains(.imported), kind.type == head.type, number == source,
                batch.modified(at: row) != nil, rare?.original == nil, rare?.reversion == nil
            else { return false }
            let own = rare?.syncIdentifier
            // The text of an id leads to the sample of that id.
            if let own, SampleID(canonical: own) != nil { return false }
            if plan.ids[row] != id { haveID = false }
            // By bytes, as in the index.
            if let text, let own, own.utf8.elementsEqual(text.utf8) { continue }
            haveText = false
        }
        return haveID || haveText
    }

    /// Returns those of some rows that the store holds under an id that derives from their content. Such an id is not
    /// in the index.
    private static func heldRows(
        _ sets: [[Int]], of batch: SampleBatch, _ plan: ImportPlan, in snapshot: Snapshot
    ) throws -> Set<Int> {
        guard !sets.isEmpty, !plan.derived.isEmpty else { return [] }
        var asked = plan
        asked.careful = [Bool](repeating: true, count: batch.count)
        for row in sets.joined() where plan.derived[row] { asked.careful[row] = false }
        var held: Set<Int> = []
        for (lane, rows) in asked.lanes(batch) {
            guard let first = rows.first, let last = rows.last else { continue }
            let points = rows.map { asked.point(batch, Int($0)) }
            let starts = (batch.starts[Int(first)], batch.starts[Int(last)])
            var index = 0
            try ChunkTable.forEachChunk(lane, from: .at(starts.0), to: .after(starts.1), in: snapshot) { chunk in
                // Rows before this chunk have no counterpart.
                while index < points.count, points[index] < chunk.key.lower { index += 1 }
                guard index < points.count else { return false }
                guard chunk.rows > 0, points[index] < chunk.upper else { return true }
                for stored in try ChunkTable.allRows(chunk, in: snapshot) {
                    let point = stored.point
                    while index < points.count, points[index] < point { index += 1 }
                    // Rows with one id share a point.
                    var twin = index
                    while twin < points.count, points[twin] == point {
                        held.insert(Int(rows[twin]))
                        twin += 1
                    }
                }
                return true
            }
        }
        return held
    }

    /// Lets the rows of one sample replace each other in their order, as records that are merged, and leaves out all
    /// but the last that stays.
    private mutating func choose(
        _ rows: [Int], of batch: SampleBatch, _ plan: inout ImportPlan, in txn: borrowing WriteTransaction
    ) {
        let id = plan.ids[rows[0]]
        var winner = rows[0]
        var held = BatchCopies.version(winner, of: batch, as: id, in: txn)
        for row in rows.dropFirst() {
            let brought = BatchCopies.version(row, of: batch, as: id, in: txn)
            let outcome = brought.outcome(over: held)
            report.count(outcome)
            if outcome == .replaced { (winner, held) = (row, brought) }
        }
        for row in rows where row != winner {
            (plan.careful[row], plan.settled[row]) = (true, true)
            losers.append(row)
        }
        guard plan.ids[winner] != id else { return }
        plan.ids[winner] = id
        // The id derives from the content of another row, if from any.
        if !plan.derived.isEmpty { plan.derived[winner] = false }
        renamed.append(winner)
    }

    private static func version(
        _ row: Int, of batch: SampleBatch, as id: SampleID, in txn: borrowing WriteTransaction
    ) -> Version {
        var sample = batch.sample(at: row)
        if sample.source == .thisApp { sample.source = txn.environment.source }
        sample.id = id
        sample.version = max(1, sample.version)
        return Version(order: sample.order, bytes: Saving.bytes(sample, in: txn))
    }

    /// What decides which of two rows stays.
    private struct Version {
        let order: VersionOrder
        let bytes: [UInt8]

        /// Returns what becomes of this version where another one is held; see `Saving.store`.
        func outcome(over held: Version) -> SaveOutcome {
            if order != held.order { return order < held.order ? .older : .replaced }
            if bytes == held.bytes { return .unchanged }
            return held.bytes.lexicographicallyPrecedes(bytes) ? .replaced : .older
        }
    }
}

/// Divides rows into sets: two rows are in one set if they were joined, or if both were joined with a third.
private struct RowSets {
    /// Each row leads to an earlier one of its set; the first one leads to itself.
    private var earlier: [Int: Int] = [:]

    var isEmpty: Bool { earlier.isEmpty }

    mutating func join(_ row: Int, _ other: Int) {
        let (one, two) = (first(of: row), first(of: other))
        earlier[max(one, two)] = min(one, two)
    }

    /// Returns the first row of the set of a row, and shortens the way to it.
    private mutating func first(of row: Int) -> Int {
        var found = row
        while let next = earlier[found], next != found { found = next }
        var place = row
        while let next = earlier[place], next != found {
            earlier[place] = found
            place = next
        }
        earlier[row] = found
        return found
    }

    /// Returns the sets in the order of their first rows, each in the order of its rows.
    mutating func all() -> [[Int]] {
        var rows: [Int: [Int]] = [:]
        for row in earlier.keys.sorted() { rows[first(of: row), default: []].append(row) }
        return rows.sorted { $0.key < $1.key }.map(\.value)
    }
}
