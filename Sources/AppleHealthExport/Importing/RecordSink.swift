import HealthKV

/// Takes the records of a file: leaves out those that are not wanted, and stores the others batch by batch.
struct RecordSink {
    private var batcher = HistoryBatcher()
    private let writer: HistoryWriter?
    let wanted: WantedRecords
    /// Samples with everything that a store knows of them.
    private var exact = SampleBatch()
    private var exactWeight = 0
    /// The last total of each day and type.
    private var totals: [TotalKey: DailyTotal] = [:]
    var report = HealthImportReport()
    /// What was set for types in the store from which the file comes.
    var settings: ExactSettings?
    /// Whether numbers of kinds are no longer valid, since a new batch was begun for them.
    private(set) var generation = 0

    init(_ writer: HistoryWriter?, _ wanted: WantedRecords) {
        self.writer = writer
        self.wanted = wanted
    }

    func isWanted(_ type: SampleType, _ source: Source) -> Bool { wanted.includes(type, source) }

    mutating func number(of kind: HistoryBatcher.Kind) -> Int { batcher.number(of: kind) }

    /// Adds a row of a known kind.
    @inline(__always)
    mutating func add(
        kind: Int, start: Int64, end: Int64, value: Double, created: Int64, extras: SampleBatch.Extras?, isWanted: Bool
    ) throws {
        report.read += 1
        guard isWanted, wanted.includes(start: start) else {
            report.skipped += 1
            return
        }
        batcher.append(
            kind: kind, start: start, end: end, value: value, created: created, extras: extras, hasOwnFields: false)
        if batcher.isFull { try flush() }
    }

    /// Adds a record.
    ///
    /// - Parameters:
    ///   - isNested: whether the record stands within a correlation, and at the top level once more.
    ///   - isMended: whether a defect of the record, or of the correlation around it, was mended.
    mutating func add(_ record: ImportedRecord, isNested: Bool = false, isMended: Bool = false) throws {
        report.read += 1
        guard wanted.includes(record.type, record.source), wanted.includes(start: record.start.nanoseconds) else {
            report.skipped += 1
            return
        }
        let kind = batcher.number(
            of: HistoryBatcher.Kind(
                type: record.type, unit: record.unit, source: record.source, device: record.device,
                isUserEntered: record.isUserEntered))
        let (start, end) = (record.start.nanoseconds, record.end.nanoseconds)
        let (created, extras) = (record.created?.nanoseconds, record.extras)
        if let id = record.id {
            batcher.append(
                kind: kind, start: start, end: end, value: record.value, id: id, created: created, extras: extras,
                hasOwnFields: extras != nil, isNested: isNested, isMended: isMended)
        } else {
            batcher.append(
                kind: kind, start: start, end: end, value: record.value, created: created, extras: extras,
                hasOwnFields: extras != nil, isNested: isNested, isMended: isMended)
        }
        if !isNested { try flushIfFull() }
    }

    /// Stores the batch if it is full. Records within a correlation wait for the last of them.
    mutating func flushIfFull() throws {
        if batcher.isFull || batcher.hasManyKinds { try flush() }
    }

    /// Adds a sample as another store wrote it.
    mutating func add(exact sample: Sample) throws {
        report.read += 1
        guard wanted.includes(sample.type, sample.source), wanted.includes(start: sample.start.nanoseconds) else {
            report.skipped += 1
            return
        }
        exact.append(sample)
        exactWeight +=
            HistoryBatcher.weight(of: sample.local) + HistoryBatcher.weight(of: sample.metadata)
            + HistoryBatcher.weight(of: sample.route)
        if exact.count + exactWeight >= HistoryBatcher.batchRows || exact.kinds.count >= 16_384 { try flush() }
    }

    private struct TotalKey: Hashable {
        let type: SampleType
        let day: String
    }

    /// More totals than this are stored before the end of the file: those of 20 years.
    private static let mostTotals = 30_000

    /// Adds the totals of a day. If the file has several of one type, the last one counts.
    mutating func add(_ day: [DailyTotal]) throws {
        for total in day where wanted.includes(total) {
            totals[TotalKey(type: total.type, day: total.day)] = total
        }
        if totals.count >= RecordSink.mostTotals { try flushTotals() }
    }

    private mutating func flushTotals() throws {
        guard !totals.isEmpty else { return }
        let full = totals.values.sorted { ($0.day, $0.type.identifier) < ($1.day, $1.type.identifier) }
        totals.removeAll()
        guard let writer else {
            report.totals += full.count
            return
        }
        try writer.store(full)
    }

    private mutating func flush(isWhole: Bool = true) throws {
        if !batcher.batch.isEmpty {
            let (renews, repeated) = (batcher.hasManyKinds, batcher.repeated)
            let full = batcher.take()
            if renews { generation += 1 }
            try store(full, isExact: false, isCounted: isWhole, repeated: repeated)
        }
        if !exact.isEmpty {
            let full = exact
            exact = SampleBatch()
            exactWeight = 0
            try store(full, isExact: true, isCounted: isWhole)
        }
    }

    private mutating func store(_ batch: SampleBatch, isExact: Bool, isCounted: Bool, repeated: Int = 0) throws {
        guard let writer else {
            // What stands within a correlation, too, joins the sample that was inserted before.
            report.inserted += batch.count - repeated
            report.replaced += repeated
            return
        }
        try writer.store(batch, isExact: isExact, isCounted: isCounted)
    }

    /// Stores the rest, and adds what the store made of all records.
    mutating func finish(isWhole: Bool) throws {
        do {
            try flush(isWhole: isWhole)
            try flushTotals()
        } catch {
            _ = try? writer?.finish(isWhole: false)
            throw error
        }
        guard let stored = try writer?.finish(isWhole: isWhole) else { return }
        report.totals += writer?.totals ?? 0
        report.inserted += stored.inserted
        report.replaced += stored.replaced
        report.unchanged += stored.unchanged + stored.older
        report.vetoed += stored.vetoed
    }
}

extension ImportedRecord {
    /// The rare fields; `nil` if there are none.
    var extras: SampleBatch.Extras? {
        if metadata.isEmpty, local.isEmpty, syncIdentifier == nil, timeZone == nil, group == nil, workout == nil,
            route == nil, version == 0
        {
            return nil
        }
        var extras = SampleBatch.Extras()
        extras.metadata = metadata
        extras.local = local
        extras.syncIdentifier = syncIdentifier
        extras.version = version
        extras.timeZone = timeZone
        extras.group = group
        extras.workout = workout
        extras.route = route
        return extras
    }
}
