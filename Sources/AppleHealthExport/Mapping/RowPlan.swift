import HealthModel

/// What a map means for the rows of one file: its rules, checked, with the numbers of the columns.
struct RowPlan: Sendable {
    /// The number of columns of the file.
    let columnCount: Int
    /// The place in the map of a time that has neither an offset nor a zone.
    let zoneMissing: String?
    private let missing: [[UInt8]]
    private let mark: UInt8
    private let skip: [SkipPlan]
    private var samples: [SamplePlan]
    private let hasRowGroups: Bool
    private var groupNames = RecentNames()
    private var zones: ZoneBook

    /// Checks a map as far as that is possible without a file.
    init(checking map: ImportMap) throws(ImportMapError) {
        try self.init(map, columns: map.hasHeader == false ? map.columns : nil)
    }

    /// Checks a map and finds its columns.
    ///
    /// - Parameter columns: the names of the file's columns; `nil` while there is no file.
    /// - Throws: an error with the place in the map.
    init(_ map: ImportMap, columns: [String]?) throws(ImportMapError) {
        var binder = MapBinder(columns: columns)
        try RowPlan.checkFile(map)
        columnCount = columns?.count ?? 0
        missing = (map.missing ?? []).map { Array($0.utf8) }
        mark = map.hasDecimalComma == true ? 0x2C : 0x2E
        skip = try binder.skips(map.skip, at: "skip")
        samples = []
        for (index, rule) in map.samples.enumerated() {
            let path = "samples[\(index)]"
            if rule.isOptional == true, let column = rule.value.column, !binder.has(column) { continue }
            let shared = rule.shared.filled(from: map.shared)
            if map.samples.count > 1, rule.shared.id == nil, map.shared.id != nil {
                throw ImportMapError(
                    "id", "is the same for all samples of a row; give it to one of them, or use syncIdentifier")
            }
            samples.append(try binder.sample(rule, shared, at: path))
        }
        guard !samples.isEmpty else {
            throw ImportMapError("samples", map.samples.isEmpty ? "has no sample" : binder.noneOfTheValues)
        }
        try RowPlan.checkIdentities(map)
        hasRowGroups = samples.contains { if case .row = $0.group { true } else { false } }
        zones = binder.zones
        zoneMissing = binder.zoneMissing
    }

    private static func checkFile(_ map: ImportMap) throws(ImportMapError) {
        guard (0...10_000).contains(map.skipLines ?? 0) else {
            throw ImportMapError("skipLines", "must be from 0 to 10000")
        }
        guard map.hasHeader == false else {
            guard map.columns == nil else { throw ImportMapError("columns", "the header names the columns") }
            return
        }
        guard let columns = map.columns, !columns.isEmpty else {
            throw ImportMapError("columns", "is missing: without a header the map names the columns")
        }
    }

    /// Refuses two samples of a row that would have the same identity.
    private static func checkIdentities(_ map: ImportMap) throws(ImportMapError) {
        var known: [String] = []
        for (index, rule) in map.samples.enumerated() {
            guard let identifier = rule.shared.syncIdentifier ?? map.shared.syncIdentifier,
                case .constant(let type) = rule.type
            else { continue }
            // An optional sample often stands for another whose unit is in the name of the column.
            if rule.isOptional == true { continue }
            let identity = SampleType(type).identifier + "\n" + identifier.column.names.joined(separator: "\n")
            guard !known.contains(identity) else {
                throw ImportMapError(
                    "samples[\(index)].syncIdentifier", "is that of another sample of the row with the same type")
            }
            known.append(identity)
        }
    }

    /// Appends the samples of a row; none if the map leaves the row out, or if it has no value.
    mutating func append(
        from scanner: CSVScanner, to records: inout [ImportedRecord]
    ) throws(RowDefect) {
        let row = RowFields(bytes: scanner.bytes, bounds: scanner.fields, missing: missing, mark: mark)
        if !skip.isEmpty, skip.contains(where: { $0.isMet(in: row) }) { return }
        guard hasRowGroups else {
            for index in samples.indices { try samples[index].append(from: row, &zones, to: &records) }
            return
        }
        var members: [Int] = []
        for index in samples.indices {
            let first = records.count
            try samples[index].append(from: row, &zones, to: &records)
            if case .row = samples[index].group { members += first..<records.count }
        }
        guard members.count > 1 else { return }
        let name = groupNames.numbered(RowPlan.groupName(members.map { records[$0] }))
        for member in members { records[member].group = name }
    }

    /// Returns the name of the group of a row. It is derived from what identifies the samples and not from their
    /// values, so that a repeated import finds the group again.
    private static func groupName(_ records: [ImportedRecord]) -> String {
        var hash = WordHash(seed: 0x726F_7773)
        hash.mix(records[0].source.identity.bundle)
        if records[0].source.bundle.isEmpty { hash.mix(records[0].source.name) }
        for record in records {
            hash.mix(record.type.identifier)
            hash.mix(UInt64(bitPattern: record.start.nanoseconds))
            hash.mix(UInt64(bitPattern: record.end.nanoseconds))
            hash.mix(record.syncIdentifier ?? "")
        }
        let digits = String(hash.value, radix: 16)
        return "row-" + String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

/// Tells rows apart that would give their groups one name, such as two readings of one minute, as long as they are
/// close to each other. They get the same names when the file is read again.
private struct RecentNames {
    private var counts: [String: Int] = [:]
    private var order: [String] = []
    private var next = 0

    private static let most = 1_024

    mutating func numbered(_ name: String) -> String {
        if let count = counts[name] {
            counts[name] = count + 1
            return "\(name)-\(count + 1)"
        }
        counts[name] = 1
        if order.count < RecentNames.most {
            order.append(name)
        } else {
            counts[order[next]] = nil
            order[next] = name
            next = (next + 1) % RecentNames.most
        }
        return name
    }
}

extension ValueRule {
    /// The column of the value, if there is one.
    var column: ColumnNames? {
        if case .column(let rule) = self { rule.column } else { nil }
    }
}
