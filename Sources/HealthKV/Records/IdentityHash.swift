import HealthModel

/// Maps identifiers to the 64-bit hashes of the identity index. The numbers of the kinds are embedded on disk.
enum IdentityHash {
    private static let uuid: UInt64 = 1
    private static let syncIdentifier: UInt64 = 2
    private static let group: UInt64 = 3

    @inline(__always)
    static func of(_ id: SampleID, _ key: KeyedHash) -> UInt64 { key.hash(id.high, id.low, uuid) }

    /// A sync identifier that is the text of an id has the hash of that id: one look-up finds the sample of the id, and
    /// any sample that took the identifier over.
    static func of(syncIdentifier text: String, _ key: KeyedHash) -> UInt64 {
        if let id = SampleID(canonical: text) { return of(id, key) }
        let words = words(of: Array(text.utf8), key)
        return key.hash(words.0, words.1, syncIdentifier)
    }

    static func of(group text: String, _ key: KeyedHash) -> UInt64 {
        let words = words(of: Array(text.utf8), key)
        return key.hash(words.0, words.1, group)
    }

    /// Returns a 128-bit hash of a text under the store's key.
    static func words(of bytes: [UInt8], _ key: KeyedHash) -> (UInt64, UInt64) {
        var first = key.hash(UInt64(bytes.count), 0, 21)
        var second = key.hash(UInt64(bytes.count), 0, 22)
        var index = 0
        while index < bytes.count {
            var word: UInt64 = 0
            for byte in bytes[index..<min(bytes.count, index + 8)] { word = word << 8 | UInt64(byte) }
            first = key.hash(first, word, 23)
            second = key.hash(second, word, 24)
            index += 8
        }
        return (first, second)
    }
}

extension SampleID {
    /// Creates the id from its canonical text form. Returns `nil` for any other form, even of a valid id.
    init?(canonical text: String) {
        guard text.utf8.count == 36, !text.utf8.contains(where: { $0 >= 0x61 }), let id = SampleID(text) else {
            return nil
        }
        self = id
    }
}
