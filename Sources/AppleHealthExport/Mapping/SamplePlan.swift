#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthModel

/// How to get the metadata value of a key.
struct MetadataPlan: Sendable {
    let key: String
    let column: BoundColumn
    let kind: MetadataRule.Kind
    let unit: HealthUnit?
    var time: TimePlan?

    /// Returns the value of a row; `nil` if it has none.
    mutating func value(
        in row: RowFields, zone: NamedZone?, _ zones: inout ZoneBook
    ) throws(RowDefect) -> MetadataValue? {
        guard let range = row.range(column.index) else { return nil }
        switch kind {
        case .text: return .string(row.text(column.index))
        case .number: return .number(try number(in: row, range))
        case .quantity: return .quantity(Quantity(try number(in: row, range), unit ?? .count))
        case .flag:
            let text = String(decoding: row.bytes[range], as: UTF8.self).lowercased()
            guard let flag = FlagPlan.words[text] else { throw column.defect("is neither true nor false") }
            return .bool(flag)
        case .date: return try time?.instant(in: row, zone: zone, &zones).map { .date($0) }
        }
    }

    private func number(in row: RowFields, _ range: Range<Int>) throws(RowDefect) -> Double {
        guard let number = DecimalNumber.read(row.bytes.span, range, mark: row.mark) else {
            throw column.defect("is not a number")
        }
        return number
    }
}

/// A column of JSON objects, remembered for the texts that were seen last.
struct JSONPlan<Value: Decodable & Sendable>: Sendable {
    let column: BoundColumn
    private var cache = ColumnCache<Value>()

    init(column: BoundColumn) { self.column = column }

    mutating func value(in row: RowFields) throws(RowDefect) -> Value? {
        guard let range = row.range(column.index) else { return nil }
        let column = column
        return try cache.value(of: row.bytes, range) { (text: String) throws(RowDefect) in
            guard let value = try? JSONDecoder().decode(Value.self, from: Data(text.utf8)) else {
                throw column.defect("is not a JSON object of the expected form")
            }
            return value
        }
    }
}

/// How to get the device of a sample.
enum DevicePlan: Sendable {
    /// A name, or a JSON object with all fields.
    case whole(TextPlan, JSONPlan<Device>?)
    case fields([TextPlan?])

    mutating func device(in row: RowFields) throws(RowDefect) -> Device? {
        switch self {
        case .whole(var name, var whole):
            defer { self = .whole(name, whole) }
            if let column = whole?.column, let range = row.range(column.index), row.bytes[range.lowerBound] == 0x7B {
                return try whole?.value(in: row)
            }
            return try name.text(in: row).map { Device(name: $0) }
        case .fields(var plans):
            defer { self = .fields(plans) }
            var (texts, isEmpty) = ([String?](), true)
            for index in plans.indices {
                let text = try plans[index]?.text(in: row)
                texts.append(text)
                if text != nil { isEmpty = false }
            }
            return isEmpty ? nil : Device(fields: texts)
        }
    }
}

/// How to get the source of a sample.
struct SourcePlan: Sendable {
    /// The source of all rows, if no field has a column.
    var constant: Source?
    var name: TextPlan?
    var bundle: TextPlan?
    var version: TextPlan?
    var product: TextPlan?
    var system: TextPlan?

    mutating func source(in row: RowFields) throws(RowDefect) -> Source {
        if let constant { return constant }
        let bundle = try bundle?.text(in: row) ?? ""
        // A source without a name is shown by its bundle; one without both would be the app itself.
        let name = try name?.text(in: row) ?? bundle
        guard !name.isEmpty else { throw RowDefect("the row names no source") }
        return Source(
            bundle: bundle, name: name, version: try version?.text(in: row), product: try product?.text(in: row),
            system: try system?.text(in: row))
    }
}

/// The group of a sample.
enum GroupPlan: Sendable {
    case none
    case row
    case column(BoundColumn)
}

/// How to get one sample of a row.
struct SamplePlan: Sendable {
    var type: TypePlan
    var value: ValuePlan
    var unit: UnitPlan
    var isList = false
    var skip: [SkipPlan] = []
    var zone: ZonePlan?
    var start: TimePlan
    var end: EndPlan?
    var created: TimePlan?
    var source: SourcePlan
    var device: DevicePlan?
    var userEntered = FlagPlan()
    var id: BoundColumn?
    var syncIdentifier: BoundColumn?
    var version: BoundColumn?
    var metadata: [MetadataPlan] = []
    var metadataJSON: JSONPlan<[String: MetadataValue]>?
    var group = GroupPlan.none

    /// Appends the samples of a row: none if it has no value for this one, several if it has a list.
    mutating func append(
        from row: RowFields, _ zones: inout ZoneBook, to records: inout [ImportedRecord]
    ) throws(RowDefect) {
        if !skip.isEmpty, skip.contains(where: { $0.isMet(in: row) }) { return }
        var range = 0..<0
        if let column = value.column {
            guard let found = row.range(column.index) else { return }
            range = found
        }
        let type = try type.type(in: row)
        let unit = try unit.unit(in: row, for: type)
        guard type.accepts(unit) else { throw RowDefect("the unit does not fit the type") }
        let rowZone = try zone?.zone(in: row, &zones)
        guard let start = try start.instant(in: row, zone: rowZone, &zones) else {
            throw self.start.column.defect("is empty")
        }
        if isList { return try appendList(range, from: start, type, unit, row, rowZone, &zones, to: &records) }
        let number: Double =
            if let column = value.column { try value.value(in: row, range, of: column, type: type) } else {
                value.constant
            }
        let end = end == nil ? start : try readEnd(after: start, row, rowZone, &zones)
        try appendOne(type, number, unit, start, end, row, rowZone, &zones, to: &records)
    }

    /// Appends a sample. It is completed where it lies: a record is large, and a copy takes as long as reading it.
    private mutating func appendOne(
        _ type: ResolvedType, _ value: Double, _ unit: HealthUnit, _ start: Instant, _ end: Instant, _ row: RowFields,
        _ rowZone: NamedZone?, _ zones: inout ZoneBook, to records: inout [ImportedRecord]
    ) throws(RowDefect) {
        try SamplePlan.check(type, value, unit, start, end)
        let source = try source.source(in: row)
        records.append(
            ImportedRecord(type: type.type, value: value, unit: unit, start: start, end: end, source: source))
        let place = records.count - 1
        if let name = rowZone?.name { records[place].timeZone = name }
        try readDetails(of: &records[place], row, rowZone, &zones)
        if hasMetadata { try SamplePlan.checkMetadata(of: records[place]) }
    }

    private var hasMetadata: Bool { !metadata.isEmpty || metadataJSON != nil }

    /// Reads the fields that many files do not have.
    private mutating func readDetails(
        of record: inout ImportedRecord, _ row: RowFields, _ rowZone: NamedZone?, _ zones: inout ZoneBook
    ) throws(RowDefect) {
        if device != nil { record.device = try device?.device(in: row) }
        record.isUserEntered = try userEntered.flag(in: row)
        if created != nil { record.created = try created?.instant(in: row, zone: rowZone, &zones) }
        if let id { record.id = try SamplePlan.id(id, row) }
        if let syncIdentifier { record.syncIdentifier = try SamplePlan.shortText(syncIdentifier, row) }
        if let version, let range = row.range(version.index) {
            guard let number = DecimalNumber.wholeNumber(row.bytes.span, range) else {
                throw version.defect("is not a version")
            }
            // Some programs write -1 for a record without a version.
            guard number < Sample.versionLimit else { throw version.defect("is too great") }
            record.version = Int64(max(0, number))
        }
        if case .column(let column) = group { record.group = try SamplePlan.shortText(column, row) }
        for index in metadata.indices {
            if let value = try metadata[index].value(in: row, zone: rowZone, &zones) {
                record.metadata[metadata[index].key] = value
            }
        }
        if metadataJSON != nil, let more = try metadataJSON?.value(in: row) {
            record.metadata.merge(more) { _, new in new }
        }
    }

    private mutating func readEnd(
        after start: Instant, _ row: RowFields, _ rowZone: NamedZone?, _ zones: inout ZoneBook
    ) throws(RowDefect) -> Instant {
        switch end {
        case nil: return start
        case .time(var plan):
            defer { end = .time(plan) }
            return try plan.instant(in: row, zone: rowZone, &zones) ?? start
        case .length(let nanoseconds): return try SamplePlan.end(nanoseconds, after: start)
        case .column(let column, let seconds):
            guard let range = row.range(column.index) else { return start }
            return try SamplePlan.end(SamplePlan.duration(row, range, column, seconds), after: start)
        case .localDay:
            guard let zone = rowZone?.zone else { throw RowDefect("the row has no zone in which a day could end") }
            let day = zones.day(at: start.secondsSince1970, in: zone)
            // Where the clocks skip the next day, the day ends when the one behind it begins.
            guard
                let end = (try? zones.start(ofDay: day + 1, in: zone)) ?? (try? zones.start(ofDay: day + 2, in: zone)),
                let end = Instant(secondsSince1970: end, nanoseconds: 0)
            else { throw RowDefect("the end of the day lies outside 1710 to 2290") }
            return end
        }
    }

    /// Appends one sample after another from lists of values and durations.
    private mutating func appendList(
        _ range: Range<Int>, from start: Instant, _ type: ResolvedType, _ unit: HealthUnit, _ row: RowFields,
        _ rowZone: NamedZone?, _ zones: inout ZoneBook, to records: inout [ImportedRecord]
    ) throws(RowDefect) {
        guard let values = value.column, case .column(let durations, let seconds) = end else { return }
        guard let items = SamplePlan.items(row.bytes, range) else { throw values.defect("is not a list") }
        guard let lengths = row.range(durations.index).flatMap({ SamplePlan.items(row.bytes, $0) }),
            lengths.count == items.count
        else { throw durations.defect("is not a list as long as that of the values") }
        var start = start
        for (item, length) in zip(items, lengths) {
            let number = try value.value(in: row, item, of: values, type: type)
            let end = try SamplePlan.end(SamplePlan.duration(row, length, durations, seconds), after: start)
            try appendOne(type, number, unit, start, end, row, rowZone, &zones, to: &records)
            start = end
        }
    }

    /// Returns the bounds of the items of a list such as `[60,60]`; `nil` if the text is none.
    private static func items(_ bytes: [UInt8], _ range: Range<Int>) -> [Range<Int>]? {
        guard range.count >= 2, bytes[range.lowerBound] == 0x5B, bytes[range.upperBound - 1] == 0x5D else { return nil }
        let inner = RowFields.trimmed(bytes, range.lowerBound + 1..<range.upperBound - 1)
        if inner.isEmpty { return [] }
        var (items, start) = ([Range<Int>](), inner.lowerBound)
        for index in inner where bytes[index] == 0x2C {
            items.append(RowFields.trimmed(bytes, start..<index))
            start = index + 1
        }
        items.append(RowFields.trimmed(bytes, start..<inner.upperBound))
        return items
    }

    private static func duration(
        _ row: RowFields, _ range: Range<Int>, _ column: BoundColumn, _ seconds: Double
    ) throws(RowDefect) -> Int64 {
        guard let number = DecimalNumber.read(row.bytes.span, range, mark: row.mark),
            let nanoseconds = EndPlan.nanoseconds(number * seconds)
        else { throw column.defect("is not a duration") }
        return nanoseconds
    }

    /// Returns the time that is a duration after another one. Behind all times lies the one that no sample has yet.
    private static func end(_ nanoseconds: Int64, after start: Instant) throws(RowDefect) -> Instant {
        let end = start + nanoseconds
        guard end < .latest else { throw RowDefect("the end lies outside 1710 to 2290") }
        return end
    }

    private static func shortText(_ column: BoundColumn, _ row: RowFields) throws(RowDefect) -> String? {
        guard let range = row.textRange(column.index) else { return nil }
        guard range.count <= Sample.textLimit else { throw column.defect("is too long") }
        return String(decoding: row.bytes[range], as: UTF8.self)
    }

    /// Reads a UUID with or without hyphens.
    private static func id(_ column: BoundColumn, _ row: RowFields) throws(RowDefect) -> SampleID? {
        guard let range = row.range(column.index) else { return nil }
        var (high, low, digits) = (UInt64(0), UInt64(0), 0)
        let hasHyphens = range.count == 36
        for (position, byte) in row.bytes[range].enumerated() {
            if hasHyphens, position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == 0x2D else { throw column.defect("is not a UUID") }
                continue
            }
            guard digits < 32, let value = hexadecimalValue(byte) else { throw column.defect("is not a UUID") }
            if digits < 16 { high = high << 4 | value } else { low = low << 4 | value }
            digits += 1
        }
        guard digits == 32, high != 0 || low != 0 else { throw column.defect("is not a UUID") }
        return SampleID(high: high, low: low)
    }

    private static func hexadecimalValue(_ digit: UInt8) -> UInt64? {
        switch digit {
        case 0x30...0x39: UInt64(digit - 0x30)
        case 0x41...0x46: UInt64(digit - 0x41 + 10)
        case 0x61...0x66: UInt64(digit - 0x61 + 10)
        default: nil
        }
    }

    /// Checks what every sample must meet.
    private static func check(
        _ type: ResolvedType, _ value: Double, _ unit: HealthUnit, _ start: Instant, _ end: Instant
    ) throws(RowDefect) {
        guard start.isRepresentable, end.isRepresentable || end == .distantFuture else {
            throw RowDefect("a time lies outside 1710 to 2290")
        }
        guard start <= end else { throw RowDefect("the end lies before the start") }
        if type.kind == .category, Int32(exactly: value) == nil {
            throw RowDefect("the value of a category is not a whole number of 32 bits")
        }
        guard (try? Sample.validate(finite: Quantity(value, unit), type.canonicalUnit, "value")) != nil else {
            throw RowDefect("the value is too great")
        }
        if let definition = type.definition, (try? definition.validate(Quantity(value, unit))) == nil {
            throw RowDefect("the value lies outside the range of its type")
        }
    }

    private static func checkMetadata(of record: ImportedRecord) throws(RowDefect) {
        if record.metadata.isEmpty { return }
        do throws(ModelError) {
            try Sample(
                record.type, record.value, record.unit, from: record.start, to: record.end, source: record.source,
                metadata: record.metadata
            ).validate()
        } catch {
            throw RowDefect("the metadata is not valid: \(error.description)")
        }
    }
}
