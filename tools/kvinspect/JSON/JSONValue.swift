import HealthKV

/// A JSON value with its keys in order and its numbers whole: 64-bit integers and the sign of zero survive.
indirect enum JSONValue: Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([Field])

    struct Field: Equatable {
        let key: String
        let value: JSONValue

        init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// The number, or null.
    static func optional(_ number: Int?) -> JSONValue { number.map { .integer(Int64($0)) } ?? .null }

    /// The text, or null.
    static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }

    /// The instant as ISO 8601, or null.
    static func optional(_ instant: Instant?, in zone: Zone) -> JSONValue {
        instant.map { .string(DateText.text($0, in: zone)) } ?? .null
    }

    static func count(_ number: Int) -> JSONValue { .integer(Int64(number)) }

    /// The value of a key, if this is an object that has it.
    subscript(key: String) -> JSONValue? {
        guard case .object(let fields) = self else { return nil }
        return fields.first { $0.key == key }?.value
    }

    /// The fields of an object with those of the objects inside it, whose keys are joined by dots.
    var flattened: [Field] {
        guard case .object(let fields) = self else { return [] }
        return fields.flatMap { field in
            guard case .object = field.value else { return [field] }
            return field.value.flattened.map { Field("\(field.key).\($0.key)", $0.value) }
        }
    }

    /// How the value looks in a cell: text bare, everything else as JSON, null as nothing.
    var cell: String {
        switch self {
        case .null: return ""
        case .string(let text): return text
        default:
            var writer = JSONWriter()
            writer.value(self)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }

    var isNumber: Bool {
        switch self {
        case .integer, .double: true
        default: false
        }
    }
}
