import HealthModel

/// Texts of any length among the local data of a sample. A text that is too long for one value is kept in several.
enum LocalText {
    /// Sets a text under a key; its further parts under the key with a number.
    static func set(_ text: String, as key: String, in local: inout [String: MetadataValue]) {
        let bytes = Array(text.utf8)
        var (start, number) = (0, 1)
        repeat {
            var end = min(bytes.count, start + Sample.textLimit)
            // Characters stay whole.
            while end > start, end < bytes.count, bytes[end] & 0xC0 == 0x80 { end -= 1 }
            local[name(key, number)] = .string(String(decoding: bytes[start..<end], as: UTF8.self))
            (start, number) = (end, number + 1)
        } while start < bytes.count
    }

    /// Returns the text under a key.
    static func text(_ key: String, in local: [String: MetadataValue]) -> String? {
        guard case .string(var text)? = local[key] else { return nil }
        var number = 2
        while case .string(let more)? = local[name(key, number)] {
            text += more
            number += 1
        }
        return text
    }

    /// Whether a key holds a part of the text under another one.
    static func isPart(_ part: String, of key: String) -> Bool {
        guard part != key else { return true }
        guard part.hasPrefix(key + " "), let number = Int(part.dropFirst(key.count + 1)) else { return false }
        return part == name(key, number) && number > 1
    }

    private static func name(_ key: String, _ number: Int) -> String { number == 1 ? key : "\(key) \(number)" }
}
