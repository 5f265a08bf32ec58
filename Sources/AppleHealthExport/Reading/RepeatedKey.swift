import HealthModel

/// A key of metadata that an element has several times: the second value stands under the key with a number.
enum RepeatedKey {
    /// The most values of one key.
    static let most = 255

    static func name(_ key: String, _ number: Int) -> String { "\(key) (\(number))" }

    /// Returns the key under which a value stands in a file, and which of its values this is.
    static func place(of key: String, in metadata: [String: MetadataValue]) -> (key: String, number: Int) {
        guard let (first, number) = parts(of: key), metadata[first] != nil else { return (key, 1) }
        return (first, number)
    }

    private static func parts(of key: String) -> (key: String, number: Int)? {
        guard key.hasSuffix(")"), let bracket = key.lastIndex(of: "("), bracket > key.startIndex,
            let number = Int(key[key.index(after: bracket)...].dropLast()), (2...most).contains(number)
        else { return nil }
        let first = String(key[..<bracket].dropLast())
        return name(first, number) == key ? (first, number) : nil
    }
}
