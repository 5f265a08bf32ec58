/// A key of metadata that an element has several times: the second value stands under the key with a number.
enum RepeatedKey {
    /// The most values of one key.
    static let most = 255

    static func name(_ key: String, _ number: Int) -> String { "\(key) (\(number))" }

    /// Returns the key without its number; `nil` if it has none.
    static func first(of key: String) -> String? {
        guard key.hasSuffix(")"), let bracket = key.lastIndex(of: "("), bracket > key.startIndex,
            let number = Int(key[key.index(after: bracket)...].dropLast()), (2...most).contains(number)
        else { return nil }
        let first = String(key[..<bracket].dropLast())
        return name(first, number) == key ? first : nil
    }
}
