import ColumnFormat

/// Whether the bytes of a value are sound, judged by the value alone.
enum ValueCheck {
    /// Returns `true` if a value is whole and belongs to a key of a table.
    static func isSound(_ bytes: [UInt8], _ table: TableCode, key: [UInt8], _ rules: SalvageRules) -> Bool {
        do {
            if SealedValue.isSealed(bytes.rawBytes) {
                _ = try SealedValue.verify(bytes.rawBytes, table: table, key: key)
            }
            guard let content = rules.opened(bytes) else { return false }
            if SealedValue.isSealed(content.rawBytes) { return true }
            switch table {
            case .chunks: try HotChunk(content.rawBytes, key: key.rawBytes).verify()
            case .details: try DetailsChunk(content.rawBytes, key: key.rawBytes).verify()
            default:
                let value = try StoredValue(content.rawBytes, table: table)
                try value.expect(key: key)
                try value.verify()
            }
            return true
        } catch {
            return false
        }
    }

    /// Returns the key under which a table holds a value: the key that the value repeats, with the commit for a chunk.
    static func key(of bytes: [UInt8], _ table: TableCode) -> [UInt8]? {
        guard let value = try? StoredValue(bytes.rawBytes, table: table, acceptsSealed: true) else { return nil }
        let own = value.key.copied()
        guard table == .chunks else { return own }
        return (try? ChunkKey(own.rawBytes))?.stored(commit: value.commit)
    }
}

/// Finds values by their own headers in bytes that no tree explains.
package enum ValueScan {
    /// The size of the fields that every value has.
    private static let fixed = 28
    private static let upperByteCount = 32
    /// A longer value is not searched for.
    static let longestValue = 64 << 20

    /// Returns the table and length of a value that may begin at an offset, without reading its checksums.
    package static func outline(_ bytes: [UInt8], at offset: Int) -> (table: TableCode, count: Int)? {
        guard offset >= 0, offset + fixed <= bytes.count, bytes[offset + 1] == FormatVersion.current,
            StoredValue.knows(flags: bytes[offset + 2]), bytes[offset + 27] == 0,
            let table = TableCode(rawValue: bytes[offset])
        else { return nil }
        let (key, upper, shift) = (Int(bytes[offset + 24]), Int(bytes[offset + 25]), Int(bytes[offset + 26]))
        guard key >= 1, upper == 0 || upper == upperByteCount, (8...16).contains(shift) else {
            return nil
        }
        let count = Int(bytes.rawBytes.word(offset) >> 32)
        guard count >= fixed + key + upper + 4, count <= longestValue else { return nil }
        return (table, count)
    }

    /// Returns `true` if the bytes before a value are the key of its record, with at most one bit that is wrong. So a
    /// value inside another value is not taken for a record of its own.
    static func followsItsKey(_ bytes: [UInt8], at offset: Int, _ key: [UInt8]) -> Bool {
        guard offset >= key.count else { return false }
        var bits = 0
        for index in key.indices { bits += (bytes[offset - key.count + index] ^ key[index]).nonzeroBitCount }
        return bits <= 1
    }
}
