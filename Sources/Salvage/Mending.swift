import ColumnFormat
import PageReader

/// Finds the one bit that is wrong in a value whose checksum fails.
///
/// A disk or memory that fails mostly turns single bits. A checksum of 32 bits over at most 4 KB leaves one candidate
/// in 2¹⁷ blocks by chance, so exactly one hit in a value that then decodes is taken for the truth, and told apart.
struct Mending {
    /// A search of a block takes some milliseconds. A file with more damaged blocks than this is not one with single
    /// bits that are wrong.
    private var left = 256
    private let rules: SalvageRules

    init(_ rules: SalvageRules) { self.rules = rules }

    /// Returns a value with the bit set right; `nil` if there is not exactly one such bit in each damaged part.
    mutating func mended(_ damaged: [UInt8], _ table: TableCode, key: [UInt8]) -> [UInt8]? {
        var bytes = damaged
        guard mendHeader(&bytes, table, key), mendBlocks(&bytes, table) else { return nil }
        return bytes != damaged && ValueCheck.isSound(bytes, table, key: key, rules) ? bytes : nil
    }

    private func isHeaderSound(_ bytes: [UInt8], _ table: TableCode, _ key: [UInt8]) -> Bool {
        guard let value = try? StoredValue(bytes.rawBytes, table: table, acceptsSealed: true) else { return false }
        // The key of a chunk also has the commit of its value.
        let own = value.key.copied()
        return table == .chunks ? key.starts(with: own) : own == key
    }

    private mutating func mendHeader(_ bytes: inout [UInt8], _ table: TableCode, _ key: [UInt8]) -> Bool {
        if isHeaderSound(bytes, table, key) { return true }
        guard left > 0 else { return false }
        left -= 1
        // The fields, the key, the bound, a directory of all columns and a checksum for each kilobyte.
        let most = min(bytes.count, StoredValue.keyOffsetLimit + key.count + 32 + 8 * 40 + bytes.count / 256 + 8)
        var hits: [Int] = []
        for bit in 0..<8 * most {
            bytes[bit / 8] ^= 1 << (bit % 8)
            if isHeaderSound(bytes, table, key) { hits.append(bit) }
            bytes[bit / 8] ^= 1 << (bit % 8)
            if hits.count > 1 { return false }
        }
        guard let bit = hits.first else { return false }
        bytes[bit / 8] ^= 1 << (bit % 8)
        return true
    }

    private mutating func mendBlocks(_ bytes: inout [UInt8], _ table: TableCode) -> Bool {
        var damaged: [(range: Range<Int>, sum: UInt32)] = []
        do {
            let value = try StoredValue(bytes.rawBytes, table: table, acceptsSealed: true)
            for (index, range) in value.blocks.enumerated() where (try? value.verify(range)) == nil {
                damaged.append((range, value.blockSum(index)))
            }
        } catch {
            return false
        }
        for (range, sum) in damaged {
            guard left > 0 else { return false }
            left -= 1
            var block = Array(bytes[range])
            var hits: [Int] = []
            for bit in 0..<8 * block.count {
                block[bit / 8] ^= 1 << (bit % 8)
                if Checksum.block(block.rawBytes) == sum { hits.append(bit) }
                block[bit / 8] ^= 1 << (bit % 8)
                if hits.count > 1 { return false }
            }
            guard let bit = hits.first else { return false }
            bytes[range.lowerBound + bit / 8] ^= 1 << (bit % 8)
        }
        return true
    }

    /// Sets one wrong bit right in the page that leads to all tables, if exactly one bit makes it such a page again.
    static func mendingNames(of file: PageFile, _ metas: MetaPages) -> (PageFile, UInt64?) {
        guard let meta = metas.newest, !meta.main.isEmpty, meta.main.depth == 1 else { return (file, nil) }
        let offset = meta.main.root * UInt64(meta.pageSize)
        var (bytes, scratch): ([UInt8], [UInt32]) = ([UInt8](repeating: 0, count: meta.pageSize), [])
        guard (try? file.read(at: offset, into: &bytes)) != nil else { return (file, nil) }
        func isWhole() -> Bool {
            guard case .names(let tables) = LoosePage(bytes, number: meta.main.root, scratch: &scratch) else {
                return false
            }
            return tables.count == Int(clamping: meta.main.entries)
                && tables.allSatisfy { TableCode(name: $0.name) != nil }
        }
        if isWhole() { return (file, nil) }
        var hit: Int?
        for bit in 0..<8 * bytes.count {
            bytes[bit / 8] ^= 1 << (bit % 8)
            let isHit = isWhole()
            bytes[bit / 8] ^= 1 << (bit % 8)
            guard isHit else { continue }
            if hit != nil { return (file, nil) }
            hit = bit
        }
        guard let hit else { return (file, nil) }
        bytes[hit / 8] ^= 1 << (hit % 8)
        return (PageFile(file, replacing: bytes, at: offset), meta.main.root)
    }
}
