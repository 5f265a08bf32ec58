import HealthModel

// Reads one row directly through the directories of both values: opening all columns for it would take most of the
// time.
extension ChunkDecoder {
    /// Returns one of the rows that were found in this chunk. Decodes only the parts that the row needs.
    public func row(
        at index: Int, of found: FoundRows, _ resolver: some DerivedIDResolver
    ) throws(FormatError) -> StoredRow {
        guard found.rows.contains(index), found.rows.upperBound <= hot.rows else { throw FormatError(.invalid, "row") }
        var row = StoredRow(
            start: 0, end: 0, id: .zero, value: 0, unit: 0, revision: 0, flags: [], version: 1, clockTime: 0,
            clockReplica: 0, commit: 0, ordinal: 0)
        try setHot(&row, index, found)
        try details.verifyBesideIDs()
        let ids = try details.ids()
        try details.value.verify(ids.storedRange(rows: index..<index + 1))
        try setDetails(&row, index)
        try row.checkCounts()
        try row.setID(ids.id(details.value.span, at: index), hot.key.lane.type, resolver)
        return row
    }

    private func setHot(_ row: inout StoredRow, _ index: Int, _ found: FoundRows) throws(FormatError) {
        let span = hot.value.span
        var (seen, duration) = (ColumnTag.Mask(), Int64(0))
        for position in 0..<hot.value.columns {
            let tag = hot.value.tag(position)
            guard seen.insert(tag) else { continue }
            let range = try hot.value.columnRange(position)
            if tag == ColumnTag.value.rawValue {
                row.value = try ValueColumn(span, range, rows: hot.rows).value(span, at: index)
                continue
            }
            let column = try IntColumn(span, range, rows: hot.rows)
            if tag == ColumnTag.start.rawValue {
                row.start = column.step(span, from: found.rows.lowerBound, found.start, to: index)
                continue
            }
            let integer = column.value(span, at: index)
            switch ColumnTag(rawValue: tag) {
            case .duration: duration = integer
            case .unit: row.setUnit(integer)
            case .revision: row.setRevision(integer)
            case .flags: try row.setFlags(integer)
            default: throw FormatError(.unknown, "column")
            }
        }
        guard seen.isSuperset(of: ColumnTag.required) else { throw FormatError(.invalid, "directory") }
        try row.setEnd(duration: duration)
    }

    private func setDetails(_ row: inout StoredRow, _ index: Int) throws(FormatError) {
        let span = details.value.span
        var seen = ColumnTag.Mask()
        var rare: RareFields.Content?
        for position in 0..<details.value.columns {
            let tag = details.value.tag(position)
            guard tag != ColumnTag.id.rawValue, seen.insert(tag) else { continue }
            let range = try details.value.columnRange(position)
            if ColumnTag.texts.contains(tag) {
                let text = try TextColumn.Reader(span, range, rows: hot.rows).text(span, at: index)
                if let text, let tag = ColumnTag(rawValue: tag) { rare.set(tag, text) }
                continue
            }
            let integer = try IntColumn(span, range, rows: hot.rows).value(span, at: index)
            switch ColumnTag(rawValue: tag) {
            case .version: row.version = integer
            case .clockTime: row.clockTime = integer
            case .clockReplica: row.setClockReplica(integer)
            case .commit: row.setCommit(integer)
            case .ordinal: row.setOrdinal(integer)
            case .device: row.setDevice(integer)
            case .count: row.setCount(integer)
            case .multiplicity: row.setMultiplicity(integer)
            default: throw FormatError(.unknown, "column")
            }
        }
        row.rare = rare.flatMap { RareFields($0) }
    }
}

extension RareFields.Content? {
    fileprivate mutating func set(_ tag: ColumnTag, _ text: [UInt8]) {
        var content = self ?? RareFields.Content()
        switch tag {
        case .metadata: content.metadata = text
        case .group: content.group = String(decoding: text, as: UTF8.self)
        case .syncIdentifier: content.syncIdentifier = String(decoding: text, as: UTF8.self)
        case .local: content.local = text
        case .timeZone: content.timeZone = String(decoding: text, as: UTF8.self)
        case .payload: content.payload = text
        case .original: content.original = text
        case .reversion: content.reversion = text
        default: return
        }
        self = content
    }
}

/// Sets fields from the integers of their columns. Encoders never write an integer that does not fit, and checksums
/// detect damage.
extension StoredRow {
    mutating func setUnit(_ number: Int64) { unit = UInt32(truncatingIfNeeded: number) }
    mutating func setRevision(_ number: Int64) { revision = UInt32(truncatingIfNeeded: number) }
    mutating func setClockReplica(_ number: Int64) { clockReplica = UInt32(truncatingIfNeeded: number) }
    mutating func setCommit(_ number: Int64) { commit = UInt64(bitPattern: number) }
    mutating func setOrdinal(_ number: Int64) { ordinal = UInt32(truncatingIfNeeded: number) }
    mutating func setDevice(_ number: Int64) { device = UInt32(truncatingIfNeeded: number) }
    mutating func setCount(_ number: Int64) { count = Int32(truncatingIfNeeded: number) }
    mutating func setMultiplicity(_ number: Int64) { multiplicity = Int32(truncatingIfNeeded: number) }

    mutating func setFlags(_ bits: Int64) throws(FormatError) {
        flags = Flags(rawValue: UInt16(truncatingIfNeeded: bits))
        guard Flags.known.isSuperset(of: flags) else { throw FormatError(.unknown, "flags") }
    }

    /// Sets the end from the start, which must be set, and the duration; -1 means an open end.
    mutating func setEnd(duration: Int64) throws(FormatError) {
        // A duration of over 292 years wraps around, but the end is still correct.
        end = duration == -1 ? Int64.max : start &+ duration
        guard end >= start, Instant(nanoseconds: start).isRepresentable,
            duration == -1 || Instant(nanoseconds: end).isRepresentable
        else { throw FormatError(.invalid, "duration") }
    }

    func checkCounts() throws(FormatError) {
        guard version >= 0, version < .max, count >= 1, multiplicity >= 0 else {
            throw FormatError(.invalid, "version or count")
        }
    }

    /// Sets the id: the stored id, or an id computed from the other fields, which must be set.
    mutating func setID(_ stored: SampleID?, _ type: UInt32, _ resolver: some DerivedIDResolver) throws(FormatError) {
        if let stored {
            id = stored
            return
        }
        guard let prefix = resolver.derivedPrefix(type: type, revision: revision) else {
            throw FormatError(.invalid, "name of a source")
        }
        flags.insert(.derivedID)
        id = DerivedID.id(
            prefix, start: start, end: end, value: resolver.canonicalValue(value, unit: unit, type: type),
            multiplicity: Int(multiplicity))
    }
}
