import HealthKV

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Parts of a sample as JSON has them.
extension JSONScanner {
    @_lifetime(self: copy self)
    mutating func sampleID() throws(JSONError) -> SampleID {
        let text = try rawString()
        guard text.count == IDText.blank.count, let id = IDText.id(in: bytes, at: text.lowerBound) else {
            var given = ""
            if text.count == IDText.blank.count {
                for place in text { given.unicodeScalars.append(.init(bytes[place])) }
            }
            throw JSONError(SampleID(given) == .zero ? ModelError.zeroIdentifier : .malformedIdentifier)
        }
        return id
    }

    @_lifetime(self: copy self)
    mutating func instant(in zone: Zone) throws(JSONError) -> Instant {
        let range = try rawString()
        guard let instant = DateText.instant(bytes.extracting(range), in: zone) else {
            throw JSONError(reason: "an ISO 8601 date between 1710 and 2290 was expected")
        }
        return instant
    }

    /// Any instant that the model can hold, those of the distant past and future too.
    @_lifetime(self: copy self)
    mutating func anyInstant(in zone: Zone) throws(JSONError) -> Instant {
        let range = try rawString()
        if let instant = DateText.instant(bytes.extracting(range), in: zone) { return instant }
        guard let instant = Instant(try text(in: range)) else {
            throw JSONError(reason: "an ISO 8601 date was expected")
        }
        return instant
    }

    /// A value that is rare enough to be read by its shape in the model.
    @_lifetime(self: copy self)
    mutating func decoded<Value: Decodable>(_ type: Value.Type) throws(JSONError) -> Value {
        let range = try skipValue(depth: 0)
        var json = Data(capacity: range.count)
        for index in range { json.append(bytes[index]) }
        do {
            return try JSONDecoder().decode(type, from: json)
        } catch let error as ModelError {
            throw JSONError(error)
        } catch {
            throw JSONError(reason: "its shape is not that of docs/JSON.md")
        }
    }

    /// Skips a value, which must not nest too deeply, and returns its range.
    @_lifetime(self: copy self)
    private mutating func skipValue(depth: Int) throws(JSONError) -> Range<Int> {
        guard depth < 16 else { throw JSONError(reason: "objects nest too deeply") }
        let first = peek()
        let start = position
        switch first {
        case 0x22: _ = try rawString()
        case 0x74, 0x66: _ = try bool()
        case 0x6E where null(): break
        case 0x7B:
            try beginObject()
            var isFirst = true
            while try nextKey(isFirst: isFirst) != nil {
                isFirst = false
                _ = try skipValue(depth: depth + 1)
            }
        case 0x5B:
            advance()
            if !skip(0x5D) {
                repeat { _ = try skipValue(depth: depth + 1) } while skip(0x2C)
                try expect(0x5D, or: "a comma or ] was expected")
            }
        default: _ = try rawNumber()
        }
        return start..<position
    }

    /// An instant, or the text for an unknown end.
    @_lifetime(self: copy self)
    mutating func end(in zone: Zone) throws(JSONError) -> Instant {
        let range = try rawString()
        if let instant = DateText.instant(bytes.extracting(range), in: zone) { return instant }
        guard try text(in: range) == DateText.openEnd else {
            throw JSONError(
                reason: "an ISO 8601 date between 1710 and 2290 was expected; unknown is \(DateText.openEnd)")
        }
        return .distantFuture
    }

    @_lifetime(self: copy self)
    mutating func isAuthored() throws(JSONError) -> Bool {
        guard let origin = Sample.Origin(rawValue: try string()) else {
            throw JSONError(reason: "authored or imported was expected")
        }
        return origin == .authored
    }

    /// Returns the range of a text or of an object of texts.
    @_lifetime(self: copy self)
    mutating func rawTexts() throws(JSONError) -> Range<Int> {
        if peek() == 0x22 {
            let inner = try rawString()
            return inner.lowerBound - 1..<inner.upperBound + 1
        }
        _ = peek()
        let start = position
        try forEachText { _, _ in }
        return start..<position
    }

    /// Skips an object of texts, numbers, true, false and null.
    @_lifetime(self: copy self)
    mutating func skipFlatObject() throws(JSONError) {
        try beginObject()
        var isFirst = true
        while try nextKey(isFirst: isFirst) != nil {
            isFirst = false
            switch peek() {
            case 0x22: _ = try rawString()
            case 0x74, 0x66: _ = try bool()
            case 0x6E where null(): break
            default: _ = try rawNumber()
            }
        }
    }

    /// Calls `body` for each field of an object of texts; null counts as absent.
    @_lifetime(self: copy self)
    private mutating func forEachText(_ body: (Range<Int>, Range<Int>) throws(JSONError) -> Void) throws(JSONError) {
        try beginObject()
        var isFirst = true
        while let key = try nextKey(isFirst: isFirst) {
            isFirst = false
            if null() { continue }
            try body(key, rawString())
        }
    }

    /// The texts of an object whose fields all have one of these names.
    @_lifetime(self: copy self)
    private mutating func texts(_ names: [String]) throws(JSONError) -> [String?] {
        var texts = [String?](repeating: nil, count: names.count)
        try beginObject()
        var isFirst = true
        while let key = try nextKey(isFirst: isFirst) {
            isFirst = false
            guard let index = names.firstIndex(of: try text(in: key)) else {
                throw JSONError(reason: "a field is not known; known are \(names.joined(separator: ", "))")
            }
            if null() { continue }
            guard texts[index] == nil else { throw JSONError(reason: "the field \(names[index]) occurs twice") }
            texts[index] = try string()
        }
        return texts
    }

    /// A name, or an object with bundle and revision.
    @_lifetime(self: copy self)
    mutating func source() throws(JSONError) -> Source {
        if peek() == 0x22 { return Source(name: try string()) }
        let texts = try texts(["name", "bundle", "version", "product", "system"])
        guard let name = texts[0] else { throw JSONError(reason: "a source needs a name") }
        return Source(bundle: texts[1] ?? "", name: name, version: texts[2], product: texts[3], system: texts[4])
    }

    /// `{"version":1,"sources":[…]}`, `"priorities":{TYPE:[{"source":…,"userEntered":…},…]}` where orders were set, and
    /// `"shadowing":{TYPE:true}` where that was, and `"definitions":[…]` of types.
    @_lifetime(self: copy self)
    mutating func dumpHead() throws(JSONError) -> DumpHead {
        let form =
            "{\"version\":1,\"sources\":[…],\"priorities\":{…},\"shadowing\":{…}} was expected; other versions are not known"
        try beginObject()
        guard let first = try nextKey(isFirst: true), try text(in: first) == "version",
            try integer() == DumpHead.version, let second = try nextKey(isFirst: false),
            try text(in: second) == "sources"
        else { throw JSONError(reason: form) }
        try expect(0x5B, or: form)
        var sources: [Source] = []
        if !skip(0x5D) {
            repeat { try sources.append(source()) } while skip(0x2C)
            try expect(0x5D, or: form)
        }
        guard sources.count <= DumpHead.sourceLimit else {
            throw JSONError(reason: "more than \(DumpHead.sourceLimit) sources")
        }
        var head = DumpHead(sources: sources)
        while let key = try nextKey(isFirst: false) {
            switch try text(in: key) {
            case "priorities": head.priorities = try priorities(form)
            case "shadowing": head.shadowing = try shadowing()
            case "definitions": head.definitions = try decoded([TypeDefinition].self)
            default: throw JSONError(reason: form)
            }
        }
        return head
    }

    @_lifetime(self: copy self)
    private mutating func shadowing() throws(JSONError) -> [SampleType: Bool] {
        var shadowing: [SampleType: Bool] = [:]
        try beginObject()
        var isFirst = true
        while let type = try nextKey(isFirst: isFirst) {
            isFirst = false
            let type = SampleType(try text(in: type))
            shadowing[type] = try bool()
        }
        return shadowing
    }

    @_lifetime(self: copy self)
    private mutating func priorities(_ form: String) throws(JSONError) -> [SampleType: [RankedSource]] {
        var priorities: [SampleType: [RankedSource]] = [:]
        try beginObject()
        var isFirst = true
        while let type = try nextKey(isFirst: isFirst) {
            isFirst = false
            let type = SampleType(try text(in: type))
            var order: [RankedSource] = []
            try expect(0x5B, or: form)
            if !skip(0x5D) {
                repeat { try order.append(rankedSource(form)) } while skip(0x2C)
                try expect(0x5D, or: form)
            }
            priorities[type] = order
        }
        return priorities
    }

    @_lifetime(self: copy self)
    private mutating func rankedSource(_ form: String) throws(JSONError) -> RankedSource {
        try beginObject()
        guard let key = try nextKey(isFirst: true), try text(in: key) == "source" else {
            throw JSONError(reason: form)
        }
        var ranked = RankedSource(try source().identity)
        guard let second = try nextKey(isFirst: false) else { return ranked }
        guard try text(in: second) == "userEntered" else { throw JSONError(reason: form) }
        ranked.isUserEntered = try bool()
        try expect(0x7D, or: form)
        return ranked
    }

    /// A name, or an object with the fields that HealthKit knows.
    @_lifetime(self: copy self)
    mutating func device() throws(JSONError) -> Device {
        if peek() == 0x22 { return Device(name: try string()) }
        return Device(fields: try texts(DeviceFields.names))
    }

    @_lifetime(self: copy self)
    mutating func metadata(in zone: Zone) throws(JSONError) -> [String: MetadataValue] {
        var metadata: [String: MetadataValue] = [:]
        try beginObject()
        var isFirst = true
        while let range = try nextKey(isFirst: isFirst) {
            isFirst = false
            let key = try text(in: range)
            guard metadata.updateValue(try metadataValue(in: zone), forKey: key) == nil else {
                throw JSONError(reason: "a key occurs twice")
            }
        }
        return metadata
    }

    @_lifetime(self: copy self)
    private mutating func metadataValue(in zone: Zone) throws(JSONError) -> MetadataValue {
        switch peek() {
        case 0x22: return .string(try string())
        case 0x74, 0x66: return .bool(try bool())
        case 0x7B: return try metadataObject(in: zone)
        default: return .number(try double())
        }
    }

    /// `{"date":…}`, `{"value":…,"unit":…}` or `{"bits":…}`
    @_lifetime(self: copy self)
    private mutating func metadataObject(in zone: Zone) throws(JSONError) -> MetadataValue {
        let form = "an object is {\"date\":…}, {\"value\":…,\"unit\":…} or {\"bits\":…}"
        let start = position
        try beginObject()
        guard let key = try nextKey(isFirst: true) else { throw JSONError(reason: form) }
        let value: MetadataValue
        switch try text(in: key) {
        case "date": value = .date(try anyInstant(in: zone))
        case "value":
            let number = try double()
            guard let second = try nextKey(isFirst: false), try text(in: second) == "unit",
                let unit = try? HealthUnit(symbol: try string())
            else { throw JSONError(reason: form) }
            value = .quantity(Quantity(number, unit))
        case "unit":
            guard let unit = try? HealthUnit(symbol: try string()), let second = try nextKey(isFirst: false),
                try text(in: second) == "value"
            else { throw JSONError(reason: form) }
            value = .quantity(Quantity(try double(), unit))
        case "bits":
            rewind(to: start)
            return .number(try double())
        default: throw JSONError(reason: form)
        }
        try expect(0x7D, or: form)
        return value
    }
}
