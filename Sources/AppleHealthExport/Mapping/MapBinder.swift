import HealthModel

/// Turns the rules of a map into plans, and finds their columns in a file.
struct MapBinder {
    /// The names of the file's columns; `nil` while there is no file.
    private let columns: [String]?
    private(set) var zones = ZoneBook()
    /// The place of a time that has neither an offset nor a zone.
    private(set) var zoneMissing: String?

    init(columns: [String]?) { self.columns = columns }

    // MARK: Columns

    private static let namedColumnsLimit = 60

    /// What an error says of the file's columns: their names, unless the first row seems to hold values, of which an
    /// error tells nothing.
    private var columnList: String {
        let columns = columns ?? []
        if columns.contains(where: MapBinder.mayBeValue) {
            return "Its first row does not look like names of columns (\(columns.count) fields)"
        }
        return "Its columns are \(names(of: columns))"
    }

    /// Whether a field is a number or a date, or a line of another format: with other separators, or JSON.
    private static func mayBeValue(_ field: String) -> Bool {
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        let bytes = Array(field.utf8)
        if let first = bytes.first(where: { $0 != UInt8(ascii: " ") }), "{[<".utf8.contains(first) { return true }
        if bytes.contains(where: isDigit), bytes.allSatisfy({ isDigit($0) || " .,:+-/TZ".utf8.contains($0) }) {
            return true
        }
        return zip(bytes, bytes.dropFirst()).contains { ";|\t".utf8.contains($0) && isDigit($1) }
    }

    private func names(of columns: [String]) -> String {
        let named = columns.prefix(MapBinder.namedColumnsLimit).map { name in
            "\"\(name.utf8.count > 100 ? String(name.prefix(60)) + "…" : name)\""
        }
        let rest = columns.count - named.count
        return named.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }

    /// What an error says if the file has no column with a value.
    var noneOfTheValues: String { "the file has no column with a value of a sample. \(columnList)" }

    /// Whether the file has a column.
    func has(_ column: ColumnNames) -> Bool {
        guard let columns else { return true }
        return column.names.contains { columns.contains($0) }
    }

    /// Returns a column of the file; `nil` if it is optional and the file does not have it.
    func column(_ column: ColumnNames, isOptional: Bool?, at path: String) throws(ImportMapError) -> BoundColumn? {
        guard let columns else { return BoundColumn(index: 0, name: column.names[0]) }
        for name in column.names {
            guard let index = columns.firstIndex(of: name) else { continue }
            guard columns.lastIndex(of: name) == index else {
                throw ImportMapError(path, "the file has several columns \"\(name)\"")
            }
            return BoundColumn(index: index, name: name)
        }
        if isOptional == true { return nil }
        let names = column.names.map { "\"\($0)\"" }.joined(separator: " or ")
        throw ImportMapError(path, "the file has no column \(names). \(columnList)")
    }

    private func needed(_ column: ColumnNames, at path: String) throws(ImportMapError) -> BoundColumn {
        guard let bound = try self.column(column, isOptional: false, at: path) else {
            throw ImportMapError(path, "is missing")
        }
        return bound
    }

    private func bound(_ rule: ColumnRule?, at path: String) throws(ImportMapError) -> BoundColumn? {
        guard let rule else { return nil }
        return try column(rule.column, isOptional: rule.isOptional, at: path + ".column")
    }

    // MARK: Rules

    func skips(_ rules: [SkipRule]?, at path: String) throws(ImportMapError) -> [SkipPlan] {
        var plans: [SkipPlan] = []
        for (index, rule) in (rules ?? []).enumerated() {
            let place = "\(path)[\(index)].column"
            guard let column = try column(rule.column, isOptional: rule.isOptional, at: place) else { continue }
            plans.append(
                SkipPlan(
                    column: column, isEmpty: rule.isEmpty == true, equals: (rule.equals ?? []).map { Array($0.utf8) },
                    differsFrom: rule.differsFrom.map { texts in texts.map { Array($0.utf8) } }))
        }
        return plans
    }

    private func text(_ rule: TextRule?, at path: String) throws(ImportMapError) -> TextPlan? {
        switch rule {
        case nil: return nil
        case .constant(let text):
            guard text.utf8.count <= Sample.textLimit else { throw ImportMapError(path, "is too long") }
            return TextPlan(otherwise: text)
        case .column(let rule):
            for text in (rule.table ?? [:]).values where text.utf8.count > Sample.textLimit {
                throw ImportMapError(path + ".table", "has a text that is too long")
            }
            let column = try column(rule.column, isOptional: rule.isOptional, at: path + ".column")
            if column == nil, rule.otherwise == nil { return nil }
            return TextPlan(column: column, table: rule.table, otherwise: rule.otherwise)
        }
    }

    private func flag(_ rule: FlagRule?, at path: String) throws(ImportMapError) -> FlagPlan {
        switch rule {
        case nil: return FlagPlan()
        case .constant(let flag): return FlagPlan(constant: flag)
        case .column(let rule):
            return FlagPlan(
                column: try column(rule.column, isOptional: rule.isOptional, at: path + ".column"), table: rule.table)
        }
    }

    private func resolvedType(_ name: String, at path: String) throws(ImportMapError) -> ResolvedType {
        do throws(ModelError) {
            return try ResolvedType(name)
        } catch {
            throw ImportMapError(path, error.description)
        }
    }

    private func type(_ rule: TextRule, at path: String) throws(ImportMapError) -> TypePlan {
        switch rule {
        case .constant(let name): return TypePlan(constant: try resolvedType(name, at: path))
        case .column(let rule):
            for name in (rule.table ?? [:]).values.sorted() { _ = try resolvedType(name, at: path + ".table") }
            let otherwise: ResolvedType? =
                if let name = rule.otherwise { try resolvedType(name, at: path + ".otherwise") } else { nil }
            return TypePlan(
                constant: otherwise,
                column: try column(
                    rule.column, isOptional: otherwise == nil ? false : rule.isOptional, at: path + ".column"),
                table: rule.table)
        }
    }

    private func unit(_ symbol: String, at path: String) throws(ImportMapError) -> HealthUnit {
        do throws(ModelError) {
            return try HealthUnit(symbol: symbol)
        } catch {
            throw ImportMapError(path, error.description)
        }
    }

    private func unit(_ rule: TextRule?, for type: ResolvedType?, at path: String) throws(ImportMapError) -> UnitPlan {
        switch rule {
        case nil:
            guard let type, !type.isCounted else { return UnitPlan() }
            throw ImportMapError(path, "is missing")
        case .constant(let symbol):
            let unit = try unit(symbol, at: path)
            if let type, !type.accepts(unit) {
                throw ImportMapError(
                    path, "does not fit the type \(type.type), which is measured in \(type.canonicalUnit!)")
            }
            return UnitPlan(constant: unit)
        case .column(let rule):
            for symbol in (rule.table ?? [:]).values.sorted() { _ = try unit(symbol, at: path + ".table") }
            let otherwise: HealthUnit? =
                if let symbol = rule.otherwise { try unit(symbol, at: path + ".otherwise") } else { nil }
            return UnitPlan(
                constant: otherwise,
                column: try column(
                    rule.column, isOptional: otherwise == nil ? false : rule.isOptional, at: path + ".column"),
                table: rule.table)
        }
    }

    private func value(_ rule: ValueRule, for type: ResolvedType?, at path: String) throws(ImportMapError) -> ValuePlan
    {
        func number(_ name: String, _ path: String) throws(ImportMapError) -> Double {
            guard let type else {
                throw ImportMapError(path, "names a case, but the type is in a column; use its number")
            }
            guard let number = type.numbersByCase[name] else {
                let cases = type.numbersByCase.keys.filter { !$0.hasPrefix("HK") }.sorted().joined(separator: ", ")
                throw ImportMapError(
                    path, cases.isEmpty ? "must be a number" : "must be a number or one of these: \(cases)")
            }
            return number
        }
        switch rule {
        case .number(let number): return ValuePlan(constant: number)
        case .categoryCase(let name): return ValuePlan(constant: try number(name, path))
        case .column(let rule):
            var table: [String: Double]?
            for (text, meaning) in (rule.table ?? [:]).sorted(by: { $0.key < $1.key }) {
                switch meaning {
                case .number(let number): table = (table ?? [:]).merging([text: number]) { $1 }
                case .categoryCase(let name):
                    table = (table ?? [:]).merging([text: try number(name, "\(path).table.\(text)")]) { $1 }
                }
            }
            return ValuePlan(
                column: try needed(rule.column, at: path + ".column"), table: table,
                shift: rule.isPercent == true ? 2 : 0)
        }
    }

    private mutating func zone(_ rule: ZoneRule?, at path: String) throws(ImportMapError) -> ZonePlan? {
        func named(_ name: String, _ path: String) throws(ImportMapError) -> NamedZone {
            guard let zone = ZonePlan.named(name, &zones) else {
                throw ImportMapError(
                    path, "is not a time zone. Write a name such as Europe/Berlin, or an offset such as +02:00")
            }
            return zone
        }
        switch rule {
        case nil: return nil
        case .constant(let name): return ZonePlan(constant: try named(name, path))
        case .column(let rule):
            let otherwise: NamedZone? =
                if let name = rule.otherwise { try named(name, path + ".otherwise") } else { nil }
            let column = try column(rule.column, isOptional: rule.isOptional, at: path + ".column")
            if column == nil, otherwise == nil { return nil }
            return ZonePlan(constant: otherwise, column: column, unit: rule.unit)
        }
    }

    private mutating func time(
        _ rule: TimeRule, hasRowZone: Bool, at path: String
    ) throws(ImportMapError) -> TimePlan? {
        guard let column = try column(rule.column, isOptional: rule.isOptional, at: path + ".column") else {
            return nil
        }
        let formats = try formats(rule.format, at: path + ".format")
        let ownZone = try zone(rule.zone, at: path + ".zone")
        if formats.contains(where: \.isLocal), !hasRowZone, ownZone == nil { zoneMissing = zoneMissing ?? path }
        return TimePlan(column: column, formats: formats, ownZone: ownZone)
    }

    private func formats(_ rule: TimeRule.Formats?, at path: String) throws(ImportMapError) -> [TimeFormat] {
        var formats: [TimeFormat] = []
        for name in rule?.names ?? [] {
            do throws(TimePattern.Mistake) {
                formats.append(try TimeFormat(name))
            } catch {
                throw ImportMapError(path, error.problem)
            }
        }
        return formats.isEmpty ? [.iso8601] : formats
    }

    private mutating func end(
        _ rule: EndRule?, hasRowZone: Bool, at path: String
    ) throws(ImportMapError) -> EndPlan? {
        let place = path + ".duration"
        switch rule {
        case nil: return nil
        case .time(let rule): return try time(rule, hasRowZone: hasRowZone, at: path).map { .time($0) }
        case .duration(.localDay):
            if !hasRowZone { zoneMissing = zoneMissing ?? place }
            return .localDay
        case .duration(.seconds(let seconds)):
            guard let nanoseconds = EndPlan.nanoseconds(seconds) else {
                throw ImportMapError(place + ".seconds", "is not a duration")
            }
            return .length(nanoseconds)
        case .duration(.column(let names, let symbol)):
            let unit = try unit(symbol, at: place + ".unit")
            guard let seconds = try? unit.convert(1, to: .second) else {
                throw ImportMapError(place + ".unit", "is not a unit of time")
            }
            return .column(try needed(names, at: place + ".column"), seconds: seconds)
        }
    }

    private func source(_ rule: SourceRule?, at path: String) throws(ImportMapError) -> SourcePlan {
        guard let rule else { throw ImportMapError(path, "is missing") }
        var plan = SourcePlan(
            constant: nil, name: try text(rule.name, at: path + ".name"),
            bundle: try text(rule.bundle, at: path + ".bundle"),
            version: try text(rule.version, at: path + ".version"),
            product: try text(rule.product, at: path + ".product"),
            system: try text(rule.system, at: path + ".system"))
        let texts = [plan.name, plan.bundle, plan.version, plan.product, plan.system]
        guard texts.allSatisfy({ $0?.column == nil }) else { return plan }
        let bundle = plan.bundle?.otherwise ?? ""
        let name = plan.name?.otherwise ?? bundle
        guard !name.isEmpty else { throw ImportMapError(path, "names no source") }
        plan.constant = Source(
            bundle: bundle, name: name, version: plan.version?.otherwise, product: plan.product?.otherwise,
            system: plan.system?.otherwise)
        return plan
    }

    private func device(_ rule: DeviceRule?, at path: String) throws(ImportMapError) -> DevicePlan? {
        switch rule {
        case nil: return nil
        case .whole(let rule):
            guard let name = try text(rule, at: path) else { return nil }
            return .whole(name, name.column.map { JSONPlan(column: $0) })
        case .fields(let rules):
            var plans: [TextPlan?] = []
            for (name, rule) in zip(DeviceRule.fieldNames, rules) {
                plans.append(try text(rule, at: "\(path).\(name)"))
            }
            return plans.contains { $0 != nil } ? .fields(plans) : nil
        }
    }

    private mutating func metadata(
        _ rules: [String: MetadataRule], hasRowZone: Bool, at path: String
    ) throws(ImportMapError) -> [MetadataPlan] {
        guard rules.count <= 255 else { throw ImportMapError(path, "has more than 255 keys") }
        var plans: [MetadataPlan] = []
        for (key, rule) in rules.sorted(by: { $0.key < $1.key }) {
            let place = "\(path).\(key)"
            guard !key.isEmpty, key.utf8.count <= Sample.textLimit else {
                throw ImportMapError(path, "has a key that is empty or too long")
            }
            guard let column = try column(rule.column, isOptional: rule.isOptional, at: place + ".column") else {
                continue
            }
            var plan = MetadataPlan(
                key: key, column: column, kind: rule.kind ?? .text,
                unit: try rule.unit.map { (symbol) throws(ImportMapError) in try unit(symbol, at: place + ".unit") })
            if rule.kind == .date {
                let formats = try formats(rule.format, at: place + ".format")
                if formats.contains(where: \.isLocal), !hasRowZone { zoneMissing = zoneMissing ?? place }
                plan.time = TimePlan(column: column, formats: formats)
            }
            plans.append(plan)
        }
        return plans
    }

    private func group(_ rule: GroupRule?, at path: String) throws(ImportMapError) -> GroupPlan {
        switch rule {
        case nil, .some(.none): return .none
        case .row: return .row
        case .column(let rule): return try bound(rule, at: path).map { .column($0) } ?? .none
        }
    }

    /// Returns the plan of a sample. `shared` is complete, `rule` as it is in the map.
    mutating func sample(
        _ rule: SampleRule, _ shared: SharedRules, at path: String
    ) throws(ImportMapError) -> SamplePlan {
        /// The place of a shared rule: in the sample, or in the map as a whole.
        func place(_ field: String, _ own: Any?) -> String { own == nil ? field : "\(path).\(field)" }
        let own = rule.shared
        let type = try type(rule.type, at: path + ".type")
        let known = type.column == nil ? type.constant : nil
        let zone = try zone(shared.zone, at: place("zone", own.zone))
        let hasRowZone = zone != nil
        let startPlace = place("start", own.start)
        guard let startRule = shared.start,
            let start = try time(startRule, hasRowZone: hasRowZone, at: startPlace)
        else { throw ImportMapError(shared.start == nil ? "\(path).start" : startPlace, "is missing") }
        var plan = SamplePlan(
            type: type, value: try value(rule.value, for: known, at: path + ".value"),
            unit: try unit(rule.unit, for: known, at: path + ".unit"), start: start,
            source: try source(shared.source, at: shared.source == nil ? "\(path).source" : place("source", own.source))
        )
        plan.zone = zone
        plan.skip = try skips(rule.skip, at: path + ".skip")
        plan.end = try end(shared.end, hasRowZone: hasRowZone, at: place("end", own.end))
        if let created = shared.created {
            plan.created = try time(created, hasRowZone: hasRowZone, at: place("created", own.created))
        }
        plan.device = try device(shared.device, at: place("device", own.device))
        plan.userEntered = try flag(shared.userEntered, at: place("userEntered", own.userEntered))
        plan.id = try bound(shared.id, at: place("id", own.id))
        plan.syncIdentifier = try bound(shared.syncIdentifier, at: place("syncIdentifier", own.syncIdentifier))
        plan.version = try bound(shared.version, at: place("version", own.version))
        plan.metadata = try metadata(
            shared.metadata ?? [:], hasRowZone: hasRowZone, at: place("metadata", own.metadata))
        if let column = try bound(shared.metadataJSON, at: place("metadataJSON", own.metadataJSON)) {
            plan.metadataJSON = JSONPlan(column: column)
        }
        plan.group = try group(shared.group, at: place("group", own.group))
        if rule.isList == true {
            guard case .column = plan.end, rule.value.column != nil else {
                throw ImportMapError(path + ".list", "needs a column of values and an end with a column of durations")
            }
            guard shared.id == nil, shared.syncIdentifier == nil else {
                throw ImportMapError(path + ".list", "gives several samples, which cannot share an identity")
            }
            plan.isList = true
        }
        return plan
    }
}
