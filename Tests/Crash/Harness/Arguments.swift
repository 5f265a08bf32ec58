/// `--name value` and `--flag`.
struct Arguments: Sendable {
    struct Misuse: Error, CustomStringConvertible {
        let description: String
    }

    private var values: [String: String] = [:]
    private var flags: Set<String> = []
    private static let flagNames: Set<String> = [
        "mass", "lie", "import", "check", "keep-going", "unwalked", "forged", "unsynced",
    ]

    init(_ words: ArraySlice<String>) throws {
        var words = words
        while let word = words.popFirst() {
            guard word.hasPrefix("--") else { throw Misuse(description: "unexpected argument \(word)") }
            let name = String(word.dropFirst(2))
            if Arguments.flagNames.contains(name) {
                flags.insert(name)
            } else if let value = words.popFirst() {
                values[name] = value
            } else {
                throw Misuse(description: "--\(name) needs a value")
            }
        }
    }

    /// Whether a flag or a value is given.
    func has(_ name: String) -> Bool { flags.contains(name) || values[name] != nil }

    func text(_ name: String) throws -> String {
        guard let value = values[name] else { throw Misuse(description: "--\(name) is missing") }
        return value
    }

    func text(_ name: String, default standard: String) -> String { values[name] ?? standard }

    func number(_ name: String, default standard: UInt64) throws -> UInt64 {
        guard let value = values[name] else { return standard }
        guard let number = UInt64(value) else { throw Misuse(description: "--\(name) is a number") }
        return number
    }
}
