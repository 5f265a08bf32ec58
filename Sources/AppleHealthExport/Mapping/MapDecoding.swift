/// A key of a JSON object, whatever its name.
struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
}

extension Decoder {
    /// Refuses an object with a field that is not among `known`: a misspelled field would silently have no effect.
    func refuseFields(otherThan known: [String]) throws {
        let strangers = try container(keyedBy: AnyKey.self).allKeys.map(\.stringValue).filter { !known.contains($0) }
        guard let stranger = strangers.min() else { return }
        throw refusal(at: stranger, "is not a field here. Fields are: \(known.joined(separator: ", "))")
    }

    /// Returns the fields of an object that has no other fields than those of `Key`.
    func fields<Key: CodingKey & CaseIterable>(_ keys: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try refuseFields(otherThan: Key.allCases.map(\.stringValue))
        return try container(keyedBy: keys)
    }

    /// Whether the value is an object with a field.
    func hasField(_ name: String) -> Bool {
        (try? container(keyedBy: AnyKey.self).contains(AnyKey(stringValue: name))) == true
    }

    /// Returns the text that stands in place of an object; `nil` if there is none.
    var text: String? { try? singleValueContainer().decode(String.self) }

    /// Returns the error for the value, or for a field of it.
    func refusal(at field: String? = nil, _ problem: String) -> DecodingError {
        let path = codingPath + (field.map { [AnyKey(stringValue: $0)] } ?? [])
        return .dataCorrupted(DecodingError.Context(codingPath: path, debugDescription: problem))
    }
}

extension Encoder {
    /// Writes a value without a container around it.
    func encodeAlone(_ value: some Encodable) throws {
        var container = singleValueContainer()
        try container.encode(value)
    }
}
