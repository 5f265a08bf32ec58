import HealthKV

/// Collects records in batches, and gives each the id that derives from its content.
struct HistoryBatcher {
    private(set) var batch = SampleBatch()
    /// What ids derive from, for each kind of the batch.
    private var origins: [(prefix: DerivedID.Prefix, unit: DerivedUnit)] = []
    private var twins = Twins()
    /// Records within a correlation stand at the top level once more, and are counted for themselves.
    private var nestedTwins = Twins()
    /// The rows of the batch that stood at the top level before.
    private(set) var repeated = 0
    /// The rows of the batch that stood within a correlation, and whether a defect in it was mended.
    private var nested: [(row: Int, isMended: Bool)] = []
    /// The rows of the batch that stood at the top level with a defect that was mended.
    private var mended: Set<Int> = []

    /// Counts the records of a file.
    private struct Twins {
        /// Those that nothing tells from equal ones.
        private var unnamed = TwinCounter()
        /// Those that have names, by content, and by content and name.
        private var named = TwinCounter()
        private var hasNames = false

        /// Counts a record without a name. Returns how many equal ones came before, and how many with names.
        mutating func count(_ id: SampleID) -> (same: Int, others: Int) {
            (unnamed.count(id), hasNames ? named.occurrences(of: id) : 0)
        }

        /// Counts a record with a name. Returns how many equal ones without a name came before.
        ///
        /// - Parameter content: the id that it had without a name.
        mutating func count(_ id: SampleID, named content: SampleID) -> Int {
            hasNames = true
            if named.count(id) == 0 { _ = named.count(content) }
            return unnamed.occurrences(of: content)
        }

        func holds(_ id: SampleID, isNamed: Bool) -> Bool { (isNamed ? named : unnamed).occurrences(of: id) > 0 }
    }

    /// The fields of a record that decide its kind.
    struct Kind {
        var type: SampleType
        var unit: HealthUnit
        var source: Source
        var device: Device?
        var isUserEntered: Bool
    }

    /// So many rows go into one commit, and fewer if they have fields of their own, which take more memory.
    static let batchRows = 32_768
    /// A row with rare fields of its own counts as so many.
    private static let weightOfFields = 6
    private static let mostKinds = 16_384

    /// How many rows the batch counts as.
    private var weight = 0

    var isFull: Bool { weight >= HistoryBatcher.batchRows }
    /// Whether the next batch needs new numbers for its kinds.
    var hasManyKinds: Bool { batch.kinds.count >= HistoryBatcher.mostKinds }

    /// Returns the number of a kind.
    mutating func number(of kind: Kind) -> Int {
        let number = batch.kind(
            kind.type, kind.unit, source: kind.source, isUserEntered: kind.isUserEntered, device: kind.device)
        while origins.count <= number {
            let known = batch.kinds[origins.count]
            origins.append(
                (
                    DerivedID.Prefix(type: known.type, source: known.source.identity),
                    DerivedUnit(known.unit, of: known.type)
                ))
        }
        return number
    }

    /// Adds a row whose id derives from its content.
    ///
    /// - Parameter hasOwnFields: whether the row has rare fields that few others share.
    @inline(__always)
    mutating func append(
        kind: Int, start: Int64, end: Int64, value: Double, created: Int64?, extras: SampleBatch.Extras?,
        hasOwnFields: Bool, isNested: Bool = false, isMended: Bool = false
    ) {
        let origin = origins[kind]
        let content = origin.unit.canonical(value)
        var id = DerivedID.id(origin.prefix, start: start, end: end, value: content, multiplicity: 0)
        var rare = extras
        // What an app tells apart by a name is as many samples, however equal the content is.
        if let name = rare?.syncIdentifier ?? rare?.metadata.externalName {
            let unnamed = id
            let multiplicity = DerivedID.multiplicity(named: name, isSyncIdentifier: rare?.syncIdentifier != nil)
            id = DerivedID.id(origin.prefix, start: start, end: end, value: content, multiplicity: multiplicity)
            if isNested, twins.holds(id, isNamed: true) { repeated += 1 }
            rare?.multiplicity = multiplicity
            rare?.othersBefore =
                isNested ? nestedTwins.count(id, named: unnamed) : twins.count(id, named: unnamed)
        } else {
            if isNested, twins.holds(id, isNamed: false) { repeated += 1 }
            let earlier = isNested ? nestedTwins.count(id) : twins.count(id)
            if earlier.same > 0 || earlier.others > 0 {
                if rare == nil { rare = SampleBatch.Extras() }
                rare?.multiplicity = earlier.same
                rare?.othersBefore = earlier.others
            }
            if earlier.same > 0 {
                id = DerivedID.id(origin.prefix, start: start, end: end, value: content, multiplicity: earlier.same)
            }
        }
        append(
            kind: kind, start: start, end: end, value: value, id: id, created: created, extras: rare,
            hasOwnFields: hasOwnFields, isNested: isNested, isMended: isMended)
    }

    /// Adds a row with an id of its own.
    mutating func append(
        kind: Int, start: Int64, end: Int64, value: Double, id: SampleID, created: Int64?, extras: SampleBatch.Extras?,
        hasOwnFields: Bool, isNested: Bool = false, isMended: Bool = false
    ) {
        if isNested { nested.append((batch.count, isMended)) } else if isMended { mended.insert(batch.count) }
        weight += 1
        if hasOwnFields {
            weight +=
                HistoryBatcher.weightOfFields - 1 + HistoryBatcher.weight(of: extras?.local)
                + HistoryBatcher.weight(of: extras?.metadata) + HistoryBatcher.weight(of: extras?.route)
        }
        let clock = created.map { ChangeClock(time: Instant(nanoseconds: $0), replica: 0) }
        batch.append(
            kind: kind, start: Instant(nanoseconds: start), end: Instant(nanoseconds: end), value: value, id: id,
            modified: clock)
        if let extras { batch.setExtras(extras, row: batch.count - 1) }
    }

    /// Returns how many more rows a row counts as whose local data have long texts.
    static func weight(of local: [String: MetadataValue]?) -> Int {
        guard let local, !local.isEmpty else { return 0 }
        return local.values.reduce(0) { sum, value in
            if case .string(let text) = value { sum + text.utf8.count } else { sum }
        } / 128
    }

    /// Returns how many more rows a row counts as that is a route.
    static func weight(of route: WorkoutRoute?) -> Int { (route?.points.count ?? 0) / 8 }

    /// Gives the copies of a record within correlations the content of the record, as far as both are in this batch:
    /// they are one sample, and a damaged copy must not win. If a defect of the record was mended and its copy had
    /// none, the record takes the content of the copy instead.
    private mutating func reconcileCopies() {
        guard !nested.isEmpty else { return }
        let ids = batch.ids
        let isNested = Set(nested.map(\.row))
        let asked = Set(nested.map { ids[$0.row] })
        var records: [SampleID: Int] = [:]
        for row in ids.indices where asked.contains(ids[row]) && !isNested.contains(row) { records[ids[row]] = row }
        for copy in nested where !copy.isMended {
            guard let record = records[ids[copy.row]], mended.remove(record) != nil else { continue }
            batch.copyContent(from: copy.row, to: record)
        }
        for copy in nested {
            if let record = records[ids[copy.row]] { batch.copyContent(from: record, to: copy.row) }
        }
    }

    /// Takes the rows out.
    mutating func take() -> SampleBatch {
        reconcileCopies()
        let full = batch
        nested.removeAll(keepingCapacity: true)
        mended.removeAll(keepingCapacity: true)
        (weight, repeated) = (0, 0)
        if hasManyKinds {
            batch = SampleBatch()
            origins = []
        } else {
            batch.removeAll()
        }
        return full
    }
}
