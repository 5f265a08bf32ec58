import HealthModel

/// Decodes the two values of a chunk into rows.
public struct ChunkDecoder: ~Escapable {
    let hot: HotChunk
    let details: DetailsChunk

    /// Joins the two values. They must own the same span, hold the same number of rows and come from one commit: both
    /// are always written together, so a value with an older commit is a page that never reached the disk.
    @_lifetime(copy hot, copy details)
    public init(hot: HotChunk, details: DetailsChunk) throws(FormatError) {
        guard hot.key == details.key, hot.upper == details.upper else { throw FormatError(.misplaced, "details") }
        guard hot.rows == details.rows else { throw FormatError(.invalid, "row count") }
        guard hot.value.commit == details.value.commit else { throw FormatError(.misplaced, "commit") }
        self.hot = hot
        self.details = details
    }

    /// Returns all rows. Verifies checksums, order, bounds, and that each row lies in the owned span.
    public func rows(_ resolver: some DerivedIDResolver) throws(FormatError) -> [StoredRow] {
        try details.verify()
        return try rows(0..<hot.rows, resolver)
    }

    /// Returns some rows, verified equally. Reads only the details that these rows need.
    public func rows(_ range: Range<Int>, _ resolver: some DerivedIDResolver) throws(FormatError) -> [StoredRow] {
        try hot.verify()
        guard range.lowerBound >= 0, range.upperBound <= hot.rows else { throw FormatError(.invalid, "row") }
        guard !range.isEmpty else { return [] }
        var columns = try RowColumns(hot, details, range)
        var rows: [StoredRow] = []
        rows.reserveCapacity(range.count)
        var last = hot.key.lower
        for index in range {
            let row = try columns.row(index, hot, details, resolver)
            let point = row.point
            guard index == range.lowerBound ? last <= point : last < point, point < hot.upper,
                row.durationClass == hot.key.lane.duration
            else { throw FormatError(.invalid, "order of rows") }
            rows.append(row)
            last = point
        }
        return rows
    }
}

/// The opened columns of one chunk, read row by row. The fields that all rows share are read once, into `common`.
private struct RowColumns {
    private var common: StoredRow
    private var starts, durations: Integers
    private let values: Values
    private let ids: IDColumn
    // Each of these is `nil` if all rows share one value.
    private var units, revisions, flags, versions, clockTimes, clockReplicas, commits, ordinals, devices: Integers?
    private var counts, multiplicities: Integers?
    private let metadata, groups, syncIdentifiers, locals, timeZones, payloads, originals, reversions: Texts?
    private let hasTexts: Bool

    /// Opens the columns for reading `range`. Verifies the ids of these rows and all other columns of the details.
    init(_ hot: borrowing HotChunk, _ details: borrowing DetailsChunk, _ range: Range<Int>) throws(FormatError) {
        try details.verifyBesideIDs()
        let (span, cold) = (hot.value.span, details.value.span)
        starts = Integers(try hot.required(.start), span, range)
        durations = Integers(try hot.required(.duration), span, range)
        values = Values(try hot.values(), span, range)
        ids = try details.ids()
        try details.value.verify(ids.storedRange(rows: range))
        var row = StoredRow(
            start: 0, end: 0, id: .zero, value: 0, unit: 0, revision: 0, flags: [], version: 0, clockTime: 0,
            clockReplica: 0, commit: 0, ordinal: 0)
        func varying(
            _ column: IntColumn?, _ span: RawSpan, _ usual: Int64 = 0, _ set: (Int64) -> Void
        ) -> Integers? {
            guard let column, column.encoding != .constant else {
                set(column?.base ?? usual)
                return nil
            }
            return Integers(column, span, range)
        }
        units = varying(try hot.required(.unit), span) { row.setUnit($0) }
        revisions = varying(try hot.required(.revision), span) { row.setRevision($0) }
        var bits: Int64 = 0
        flags = varying(try hot.integers(.flags), span) { bits = $0 }
        try row.setFlags(bits)
        versions = varying(try details.unverifiedIntegers(.version), cold, 1) { row.version = $0 }
        clockTimes = varying(try details.unverifiedIntegers(.clockTime), cold) { row.clockTime = $0 }
        clockReplicas = varying(try details.unverifiedIntegers(.clockReplica), cold) { row.setClockReplica($0) }
        commits = varying(try details.unverifiedIntegers(.commit), cold) { row.setCommit($0) }
        ordinals = varying(try details.unverifiedIntegers(.ordinal), cold) { row.setOrdinal($0) }
        devices = varying(try details.unverifiedIntegers(.device), cold) { row.setDevice($0) }
        counts = varying(try details.unverifiedIntegers(.count), cold, 1) { row.setCount($0) }
        multiplicities = varying(try details.unverifiedIntegers(.multiplicity), cold) { row.setMultiplicity($0) }
        common = row
        metadata = try Texts(.metadata, details, range)
        groups = try Texts(.group, details, range)
        syncIdentifiers = try Texts(.syncIdentifier, details, range)
        locals = try Texts(.local, details, range)
        timeZones = try Texts(.timeZone, details, range)
        payloads = try Texts(.payload, details, range)
        originals = try Texts(.original, details, range)
        reversions = try Texts(.reversion, details, range)
        let all = [metadata, groups, syncIdentifiers, locals, timeZones, payloads, originals, reversions]
        hasTexts = all.contains { $0 != nil }
    }

    mutating func row(
        _ index: Int, _ hot: borrowing HotChunk, _ details: borrowing DetailsChunk, _ resolver: some DerivedIDResolver
    ) throws(FormatError) -> StoredRow {
        let span = hot.value.span
        let cold = details.value.span
        var row = common
        row.start = starts.value(span, at: index)
        try row.setEnd(duration: durations.value(span, at: index))
        row.value = values.value(span, at: index)
        if let unit = units?.value(span, at: index) { row.setUnit(unit) }
        if let revision = revisions?.value(span, at: index) { row.setRevision(revision) }
        if let bits = flags?.value(span, at: index) { try row.setFlags(bits) }
        if let version = versions?.value(cold, at: index) { row.version = version }
        if let time = clockTimes?.value(cold, at: index) { row.clockTime = time }
        if let replica = clockReplicas?.value(cold, at: index) { row.setClockReplica(replica) }
        if let commit = commits?.value(cold, at: index) { row.setCommit(commit) }
        if let ordinal = ordinals?.value(cold, at: index) { row.setOrdinal(ordinal) }
        if let device = devices?.value(cold, at: index) { row.setDevice(device) }
        if let count = counts?.value(cold, at: index) { row.setCount(count) }
        if let multiplicity = multiplicities?.value(cold, at: index) { row.setMultiplicity(multiplicity) }
        if hasTexts { row.rare = try rareFields(index, cold) }
        try row.checkCounts()
        try row.setID(ids.id(cold, at: index), hot.key.lane.type, resolver)
        return row
    }

    private func rareFields(_ index: Int, _ span: RawSpan) throws(FormatError) -> RareFields? {
        func text(_ column: Texts?) throws(FormatError) -> String? {
            try bytes(column).map { String(decoding: $0, as: UTF8.self) }
        }
        func bytes(_ column: Texts?) throws(FormatError) -> [UInt8]? { try column?.text(span, at: index) }
        var content = RareFields.Content()
        content.syncIdentifier = try text(syncIdentifiers)
        content.group = try text(groups)
        content.metadata = try bytes(metadata)
        content.local = try bytes(locals)
        content.timeZone = try text(timeZones)
        content.payload = try bytes(payloads)
        content.original = try bytes(originals)
        content.reversion = try bytes(reversions)
        return RareFields(content)
    }
}

/// A column of integers. Decodes all integers at once if more than a quarter of the rows are read, otherwise one by
/// one.
private struct Integers {
    private let column: IntColumn
    private let all: [Int64]
    // Sum differences from the last row read, not from the first row.
    private var position = -1
    private var latest: Int64 = 0

    init(_ column: IntColumn, _ span: RawSpan, _ rows: Range<Int>) {
        self.column = column
        all = Integers.isWorthDecoding(rows, of: column) ? column.decoded(span) : []
    }

    /// Decoding a row together with all others takes a fraction of the time of decoding it alone.
    static func isWorthDecoding(_ rows: Range<Int>, of column: IntColumn) -> Bool { rows.count > column.rows / 4 }

    @inline(__always)
    mutating func value(_ span: RawSpan, at row: Int) -> Int64 {
        if !all.isEmpty { return all[row] }
        guard column.encoding == .differences else { return column.value(span, at: row) }
        let isBehind = position >= 0 && row >= position
        latest = isBehind ? column.step(span, from: position, latest, to: row) : column.value(span, at: row)
        position = row
        return latest
    }
}

/// The column of values, decoded by the same rule.
private struct Values {
    private let column: ValueColumn
    private let all: [Double]

    init(_ column: ValueColumn, _ span: RawSpan, _ rows: Range<Int>) {
        self.column = column
        all = Integers.isWorthDecoding(rows, of: column.integers) ? column.decoded(span) : []
    }

    @inline(__always)
    func value(_ span: RawSpan, at row: Int) -> Double {
        all.isEmpty ? column.value(span, at: row) : all[row]
    }
}
