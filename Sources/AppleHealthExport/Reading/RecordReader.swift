import HealthModel

/// Makes records of the elements of an export.
struct RecordReader {
    private var types: [String: SampleType] = [:]
    private var units: [String: HealthUnit?] = [:]
    private var devices: [String: Device?] = [:]
    private var categories = CategoryNames()

    /// Why an element is no record.
    struct Refusal: Error { let reason: String }

    /// What stood within records and was too long to be kept, by kind, with its bytes.
    var keptOut: [(kind: String, bytes: Int)] = []

    /// The name of the case of the record that is being read, if its type is not in the catalog.
    private var unknownCase: String?

    /// Room for the keys of long texts beside the texts.
    private static let roomForKeys = 4_096
    /// Texts that are remembered of each kind.
    private static let mostTexts = 10_000

    /// Reads the record of a node, with the metadata within it.
    ///
    /// - Parameter isMended: set if a text of the record had defects.
    mutating func record(
        _ element: ExportElement, _ number: Int, _ bytes: borrowing Span<UInt8>, _ isMended: inout Bool
    ) throws(Refusal) -> ImportedRecord {
        let node = element.nodes[number]
        var isDamaged = false
        guard let identifier = text(.type, element, node, bytes, &isDamaged), !identifier.isEmpty else {
            throw Refusal(reason: "it has no type")
        }
        if isDamaged || identifier.utf8.contains(0x3C) || hasDamagedFamily(identifier) {
            throw Refusal(reason: "its type is damaged")
        }
        let type = type(identifier)
        let (start, end) = try times(element, node, bytes)
        let source = try source(element, node, bytes, &isMended)
        unknownCase = nil
        let (value, unit) = try quantity(of: type, element, node, bytes, &isMended)
        var record = ImportedRecord(
            type: type, value: value, unit: unit, start: Instant(nanoseconds: start), end: Instant(nanoseconds: end),
            source: source.source)
        record.device = source.device
        record.created = try created(element, node, bytes)
        if let unknownCase { LocalText.set(unknownCase, as: ExactKeys.value, in: &record.local) }
        readChildren(of: element, number, bytes, into: &record, &isMended)
        record.created = record.created ?? record.earliestWriting
        try RecordReader.validate(record)
        return record
    }

    /// Returns `false` for a record or workout whose type or source says that it is not wanted, whatever else is wrong
    /// with it.
    mutating func mayBeWanted(
        _ element: ExportElement, _ name: TopLevel, _ bytes: borrowing Span<UInt8>, _ wanted: WantedRecords
    ) -> Bool {
        if name == .workout, let types = wanted.types, !types.contains(.workout) { return false }
        let node = element.nodes[0]
        func isAny<Value>(_ set: Set<Value>?, _ name: ExportName, _ value: (String) -> Value) -> Bool {
            var isDamaged = false
            guard let set, let text = text(name, element, node, bytes, &isDamaged), !isDamaged, !text.contains("<")
            else { return true }
            return set.contains(value(text))
        }
        let isType = name == .workout || isAny(wanted.types, .type) { SampleType($0) }
        return isType && isAny(wanted.sources, .sourceName) { $0 }
    }

    /// Reads start and end.
    func times(
        _ element: ExportElement, _ node: ExportNode, _ bytes: borrowing Span<UInt8>
    ) throws(Refusal) -> (start: Int64, end: Int64) {
        guard let start = element.attribute(ExportName.startDate.bytes, of: node, in: bytes) else {
            throw Refusal(reason: "it has no start")
        }
        let second = node.depth == 0 ? element.secondStart.map { element.attributes[$0] } : nil
        guard let end = element.attribute(ExportName.endDate.bytes, of: node, in: bytes) ?? second else {
            throw Refusal(reason: "it has no end")
        }
        guard let from = ExportDates.read(start, in: bytes), let to = ExportDates.readEnd(end, in: bytes) else {
            throw Refusal(reason: "a date is no date")
        }
        guard from <= to else { throw Refusal(reason: "it ends before it starts") }
        return (from, to)
    }

    func created(
        _ element: ExportElement, _ node: ExportNode, _ bytes: borrowing Span<UInt8>
    ) throws(Refusal) -> Instant? {
        guard let attribute = element.attribute(ExportName.creationDate.bytes, of: node, in: bytes) else { return nil }
        guard let time = ExportDates.read(attribute, in: bytes) else { throw Refusal(reason: "a date is no date") }
        return Instant(nanoseconds: time)
    }

    /// Reads who wrote a record, and with which device.
    mutating func source(
        _ element: ExportElement, _ node: ExportNode, _ bytes: borrowing Span<UInt8>, _ isMended: inout Bool
    ) throws(Refusal) -> (source: Source, device: Device?) {
        guard let name = text(.sourceName, element, node, bytes, &isMended) else {
            throw Refusal(reason: "it has no source")
        }
        // A store takes an empty name for its own app.
        let named = name.isEmpty ? RecordReader.unnamed : name
        let description = text(.device, element, node, bytes, &isMended)
        let device: Device? = if let description { known(device: description) } else { nil }
        let version = text(.sourceVersion, element, node, bytes, &isMended)
        // Whether a watch or a phone wrote decides which of two sources counts.
        return (Source(name: named, version: version, product: device?.hardwareVersion), device)
    }

    /// The name of a source without a name.
    private static let unnamed = "Unknown"

    private mutating func quantity(
        of type: SampleType, _ element: ExportElement, _ node: ExportNode, _ bytes: borrowing Span<UInt8>,
        _ isMended: inout Bool
    ) throws(Refusal) -> (Double, HealthUnit) {
        let value = element.attribute(ExportName.value.bytes, of: node, in: bytes)
        let written = element.attribute(ExportName.unit.bytes, of: node, in: bytes).map { ExportText($0, in: bytes) }
        if written?.isGuessed ?? false { throw Refusal(reason: "its unit is damaged") }
        // Units of moles have brackets, which some writers do not escape.
        isMended = isMended || written?.isMended ?? false
        let symbol = written?.text
        if type.kind == .category || type.kind == .other && symbol == nil {
            let unit = type.canonicalUnit ?? .count
            guard let value else {
                // Types without cases have no value to tell. Of others no case may be made up.
                guard type.categoryCases.allSatisfy({ $0.number == 0 }) else {
                    throw Refusal(reason: "it has no value")
                }
                return (0, unit)
            }
            let name = ExportText(value, in: bytes)
            isMended = isMended || name.isMended
            if let number = categories.number(name.text, of: type) { return (number, unit) }
            // A type that the catalog does not know yet has cases that it does not know either. Their names are kept.
            if type.catalogNumber == nil, !name.isMended, !name.text.isEmpty {
                unknownCase = name.text
                return (CategoryNames.unknownNumber(of: name.text), unit)
            }
            throw Refusal(reason: "its value is none that the type has")
        }
        guard let value else { throw Refusal(reason: "it has no value") }
        guard let symbol else { throw Refusal(reason: "it has no unit") }
        guard let unit = unit(symbol) else { throw Refusal(reason: "its unit is none") }
        guard let number = DecimalNumber.read(value, in: bytes) else {
            throw Refusal(reason: "its value is no number")
        }
        return (number, unit)
    }

    /// Reads metadata and beats within a node. What it does not know it keeps as it stands, apart from elements that
    /// have names of `others`; of those it keeps the nodes `kept`, in their order.
    mutating func readChildren(
        of element: ExportElement, _ number: Int, _ bytes: borrowing Span<UInt8>, into record: inout ImportedRecord,
        besides others: [ExportName] = [], keeping kept: [Int] = [], _ isMended: inout Bool
    ) {
        let depth = element.nodes[number].depth
        var (beats, unknown) = ("", "")
        var isInBeats = false
        var kept = kept[...]
        for index in element.nodes.indices.dropFirst(number + 1) {
            let child = element.nodes[index]
            guard child.depth > depth else { break }
            if kept.first == index {
                kept.removeFirst()
                unknown += (unknown.isEmpty ? "" : "\n") + RecordReader.raw(bytes, child, &isMended)
                continue
            }
            if child.depth == depth + 1 { isInBeats = ExportName.beats.isName(of: child, in: bytes) }
            if ExportName.metadataEntry.isName(of: child, in: bytes), child.depth == depth + 1 {
                guard let entry = metadata(element, child, bytes, &isMended) else {
                    isMended = true
                    continue
                }
                guard RecordReader.set(entry.key, entry.text, in: &record) else {
                    keptOut.append((ExportName.metadataEntry.text, child.tag.count))
                    continue
                }
            } else if isInBeats, ExportName.beat.isName(of: child, in: bytes) {
                let rate = text(.bpm, element, child, bytes, &isMended) ?? ""
                let time = text(.time, element, child, bytes, &isMended) ?? ""
                beats += beats.isEmpty ? "\(rate) \(time)" : "; \(rate) \(time)"
            } else if child.depth == depth + 1, !isInBeats,
                !others.contains(where: { $0.isName(of: child, in: bytes) })
            {
                unknown += (unknown.isEmpty ? "" : "\n") + RecordReader.raw(bytes, child, &isMended)
            }
        }
        if beats.isEmpty, unknown.isEmpty { return }
        var room = Sample.metadataLimit - RecordReader.roomForKeys
        for (text, key) in [(beats, ExactKeys.beats), (unknown, ExactKeys.elements)] where !text.isEmpty {
            guard text.utf8.count <= room else {
                keptOut.append((key, text.utf8.count))
                continue
            }
            room -= text.utf8.count
            LocalText.set(text, as: key, in: &record.local)
        }
    }

    /// Returns an element as it stands in the file.
    private static func raw(_ bytes: borrowing Span<UInt8>, _ node: ExportNode, _ isMended: inout Bool) -> String {
        var scanner = ElementScanner(takesText: true)
        var range = node.tag
        if case .element = scanner.step(bytes, at: node.tag.lowerBound) { range = scanner.element.range }
        let raw = bytes.copied(range)
        if let text = String(validating: raw, as: UTF8.self) { return text }
        isMended = true
        return String(decoding: raw, as: UTF8.self)
    }

    /// Refuses what no store holds. A record that carries a whole sample counts for nothing beside it.
    static func validate(_ record: ImportedRecord) throws(Refusal) {
        if record.metadata[ExactKeys.sample] != nil { return }
        do {
            try record.sample.validate()
            try record.type.definition?.validate(Quantity(record.value, record.unit))
        } catch {
            throw Refusal(reason: "no store holds it: \(error)")
        }
    }

    /// Reads one entry of metadata.
    func metadata(
        _ element: ExportElement, _ node: ExportNode, _ bytes: borrowing Span<UInt8>, _ isMended: inout Bool
    ) -> (key: String, text: String)? {
        guard let key = text(.key, element, node, bytes, &isMended), !key.isEmpty,
            let value = text(.value, element, node, bytes, &isMended)
        else { return nil }
        return (key, value)
    }

    /// Sets what an entry of metadata says. Some entries are fields of a sample. Returns `false` if there is no place
    /// for it.
    private static func set(_ key: String, _ text: String, in record: inout ImportedRecord) -> Bool {
        switch key {
        case "HKWasUserEntered" where text == "1" || text == "0": record.isUserEntered = text == "1"
        case "HKMetadataKeySyncIdentifier" where !text.isEmpty && text.utf8.count <= Sample.textLimit:
            record.syncIdentifier = text
        case "HKMetadataKeySyncVersion":
            if let version = Int64(text) {
                record.version = max(0, version)
            } else if let version = Double(text), version >= 0 {
                // One that no store can keep is refused with the record.
                record.version = version < 0x1p62 ? Int64(version) : .max
            }
        case "HKTimeZone" where !text.isEmpty && text.utf8.count <= Sample.textLimit: record.timeZone = text
        default: return record.metadata.add(ExportMetadata.value(text, of: key), as: key)
        }
        return true
    }

    /// Returns the text of an attribute.
    func text(
        _ name: ExportName, _ element: ExportElement, _ node: ExportNode, _ bytes: borrowing Span<UInt8>,
        _ isMended: inout Bool
    ) -> String? {
        guard let attribute = element.attribute(name.bytes, of: node, in: bytes) else { return nil }
        let text = ExportText(attribute, in: bytes)
        isMended = isMended || text.isMended
        return text.text
    }

    private static let families = ["Quantity", "Category", "Correlation"].map { Array("HK\($0)TypeIdentifier".utf8) }

    /// Whether a type that was not met yet begins like a family of HealthKit's types with one letter wrong.
    private func hasDamagedFamily(_ identifier: String) -> Bool {
        guard types[identifier] == nil else { return false }
        let bytes = Array(identifier.utf8)
        if RecordReader.families.contains(where: { bytes.starts(with: $0) }) { return false }
        return RecordReader.families.contains { family in
            (family.count - 1...family.count + 1).contains { length in
                EditDistance.between(Array(bytes.prefix(length)), family) <= 1
            }
        }
    }

    mutating func type(_ identifier: String) -> SampleType {
        if let type = types[identifier] { return type }
        let type = SampleType(identifier)
        if types.count < RecordReader.mostTexts { types[identifier] = type }
        return type
    }

    mutating func unit(_ symbol: String) -> HealthUnit? {
        if let unit = units[symbol] { return unit }
        let unit = try? HealthUnit(symbol: symbol)
        if units.count < RecordReader.mostTexts { units[symbol] = .some(unit) }
        return unit
    }

    private mutating func known(device text: String) -> Device? {
        if let device = devices[text] { return device }
        let device = ExportDevice.read(text)
        if devices.count < RecordReader.mostTexts { devices[text] = .some(device) }
        return device
    }
}

extension [String: MetadataValue] {
    /// Adds what stands under a key, which may stand several times. Returns `false` if it stands too often.
    @discardableResult
    mutating func add(_ value: MetadataValue, as key: String) -> Bool {
        var (name, copies) = (key, 1)
        while let known = self[name], known != value {
            guard copies < RepeatedKey.most else { return false }
            copies += 1
            name = RepeatedKey.name(key, copies)
        }
        self[name] = value
        return true
    }
}
