/// Command-line arguments: `--name value` and `--flag`.
package struct Arguments: Sendable {
    package struct Misuse: Error, CustomStringConvertible {
        package let description: String
        package init(description: String) { self.description = description }
    }

    private var values: [String: String] = [:]
    private var flags: Set<String> = []

    /// Parses `words`. The names in `flags` take no value.
    package init(_ words: ArraySlice<String>, flags flagNames: Set<String>) throws {
        var words = words
        while let word = words.popFirst() {
            guard word.hasPrefix("--") else { throw Misuse(description: "unexpected argument \(word)") }
            let name = String(word.dropFirst(2))
            if flagNames.contains(name) {
                flags.insert(name)
            } else if let value = words.popFirst() {
                values[name] = value
            } else {
                throw Misuse(description: "--\(name) needs a value")
            }
        }
    }

    /// Returns `true` if the flag or value was given.
    package func has(_ name: String) -> Bool { flags.contains(name) || values[name] != nil }

    package func text(_ name: String) throws -> String {
        guard let value = values[name] else { throw Misuse(description: "--\(name) is missing") }
        return value
    }

    package func text(_ name: String, default standard: String) -> String { values[name] ?? standard }

    package func number(_ name: String, default standard: UInt64) throws -> UInt64 {
        guard let value = values[name] else { return standard }
        guard let number = UInt64(value) else { throw Misuse(description: "--\(name) is a number") }
        return number
    }
}
