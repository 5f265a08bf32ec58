import HealthKV

/// Takes a value apart, piece by piece: bytes of JSON (``JSONWriter``) or a tree (``JSONTreeBuilder``).
///
/// So what a sample looks like is written down once, for the fast way and for tables.
protocol JSONSink {
    mutating func beginObject()
    mutating func endObject()
    mutating func beginArray()
    mutating func endArray()
    mutating func key(_ name: String)
    mutating func string(_ text: String)
    mutating func double(_ number: Double)
    mutating func integer(_ number: Int64)
    mutating func bool(_ flag: Bool)
    mutating func instant(_ instant: Instant, in zone: Zone)
    mutating func id(_ id: SampleID)
    /// A source with bundle and revision.
    mutating func source(_ source: Source)
    mutating func key(_ field: LineField)
}

extension JSONSink {
    mutating func field(_ name: String, _ text: String) {
        key(name)
        string(text)
    }

    /// A field that is left out where there is nothing to say.
    mutating func field(_ name: String, optional text: String?) {
        if let text { field(name, text) }
    }

    mutating func field(_ name: String, _ number: Int64) {
        key(name)
        integer(number)
    }

    mutating func field(_ name: String, _ flag: Bool) {
        key(name)
        bool(flag)
    }

    mutating func field(_ name: String, _ date: Instant, in zone: Zone) {
        key(name)
        instant(date, in: zone)
    }

    mutating func id(_ id: SampleID) { string(id.description) }

    mutating func key(_ field: LineField) { key(field.name) }

    mutating func source(_ source: Source) {
        beginObject()
        field("name", source.name)
        revision(of: source)
        endObject()
    }

    /// What a source has besides its name.
    mutating func revision(of source: Source) {
        if !source.bundle.isEmpty { field("bundle", source.bundle) }
        field("version", optional: source.version)
        field("product", optional: source.product)
        field("system", optional: source.system)
    }
}

/// Builds the tree of one value.
struct JSONTreeBuilder: JSONSink {
    /// What is open: fields of an object, or elements of an array.
    private enum Level {
        case object([JSONValue.Field])
        case array([JSONValue])
    }

    private var open: [Level] = []
    private var keys: [String] = []

    /// What was built.
    private(set) var value = JSONValue.null

    mutating func beginObject() { open.append(.object([])) }
    mutating func beginArray() { open.append(.array([])) }
    mutating func endObject() { close() }
    mutating func endArray() { close() }

    private mutating func close() {
        switch open.removeLast() {
        case .object(let fields): put(.object(fields))
        case .array(let values): put(.array(values))
        }
    }

    mutating func key(_ name: String) { keys.append(name) }
    mutating func string(_ text: String) { put(.string(text)) }
    mutating func double(_ number: Double) { put(.double(number)) }
    mutating func integer(_ number: Int64) { put(.integer(number)) }
    mutating func bool(_ flag: Bool) { put(.bool(flag)) }
    mutating func instant(_ instant: Instant, in zone: Zone) { put(.string(DateText.text(instant, in: zone))) }

    private mutating func put(_ value: JSONValue) {
        switch open.popLast() {
        case nil: self.value = value
        case .object(let fields): open.append(.object(fields + [.init(keys.removeLast(), value)]))
        case .array(let values): open.append(.array(values + [value]))
        }
    }
}
