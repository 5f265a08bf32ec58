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
    mutating func null()
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
    /// What is open: an object with its fields, or an array with its elements.
    private struct Level {
        let isArray: Bool
        var fields: [JSONValue.Field] = []
        var values: [JSONValue] = []
    }

    private var open: [Level] = []
    private var keys: [String] = []

    /// What was built.
    private(set) var value = JSONValue.null

    mutating func beginObject() { open.append(Level(isArray: false)) }
    mutating func beginArray() { open.append(Level(isArray: true)) }
    mutating func endObject() { close() }
    mutating func endArray() { close() }

    private mutating func close() {
        let level = open.removeLast()
        put(level.isArray ? .array(level.values) : .object(level.fields))
    }

    mutating func key(_ name: String) { keys.append(name) }
    mutating func string(_ text: String) { put(.string(text)) }
    mutating func double(_ number: Double) { put(.double(number)) }
    mutating func integer(_ number: Int64) { put(.integer(number)) }
    mutating func bool(_ flag: Bool) { put(.bool(flag)) }
    mutating func null() { put(.null) }
    mutating func instant(_ instant: Instant, in zone: Zone) { put(.string(DateText.text(instant, in: zone))) }

    private mutating func put(_ value: JSONValue) {
        let last = open.count - 1
        if last < 0 {
            self.value = value
        } else if open[last].isArray {
            open[last].values.append(value)
        } else {
            open[last].fields.append(.init(keys.removeLast(), value))
        }
    }
}
