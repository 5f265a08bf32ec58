import HealthModel

/// Reads metadata as exports print it: every value is a text, and its kind is known from the key or from its form.
enum ExportMetadata {
    /// Returns the value of a key.
    static func value(_ text: String, of key: String) -> MetadataValue {
        switch kind(of: key) {
        case .truth where text == "1" || text == "0": .bool(text == "1")
        case .number: Double(text).flatMap { $0.isFinite ? .number($0) : nil } ?? .string(text)
        case .quantity: quantity(text).map { .quantity($0) } ?? .string(text)
        case .text, .truth: .string(text)
        case nil: date(text).map { .date($0) } ?? .string(text)
        }
    }

    /// Some of HealthKit's keys have a longer text than their name in its documentation.
    private static func kind(of key: String) -> MetadataKind? {
        let long = "HKMetadataKey"
        return MetadataKind(key: key)
            ?? (key.hasPrefix(long) ? MetadataKind(key: "HK" + key.dropFirst(long.count)) : nil)
    }

    /// Reads a number and its unit, as in `5900 cm`.
    private static func quantity(_ text: String) -> Quantity? {
        guard let space = text.firstIndex(of: " "), let value = Double(text[..<space]), value.isFinite,
            let unit = try? HealthUnit(symbol: String(text[text.index(after: space)...]))
        else { return nil }
        return Quantity(value, unit)
    }

    /// Dates in metadata are always in universal time.
    private static func date(_ text: String) -> Instant? {
        guard text.utf8.count == ExportDates.length, text.hasSuffix(" +0000") else { return nil }
        let bytes = Array(text.utf8)
        return ExportDates.read(bytes.span, at: 0).map { Instant(nanoseconds: $0) }
    }
}
