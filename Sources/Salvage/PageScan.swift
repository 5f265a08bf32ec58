import ColumnFormat
import PageReader

/// Finds the values on pages that are read one by one.
struct PageScan {
    private let file: PageFile
    private let pageSize: Int
    private let byteCount: UInt64
    private var page: [UInt8]
    private var scratch: [UInt32] = []
    /// How many bytes of long values may still be read. Forged headers could name the same bytes again and again.
    private var allowance: UInt64

    /// LMDB's header of a page.
    private static let header = 16

    init(_ file: PageFile, pageSize: Int, byteCount: UInt64) {
        (self.file, self.pageSize, self.byteCount) = (file, pageSize, byteCount)
        page = [UInt8](repeating: 0, count: pageSize)
        allowance = 4 * byteCount
    }

    /// Whether the page that was read last may be in a hole of the file.
    var isInHole: Bool { file.isInHole(page) }

    /// Returns the values that begin on a page, and the number of pages that a long value takes; 0 if none does.
    mutating func values(on number: UInt64, _ origin: ValueOrigin) throws -> (values: [FoundValue], pages: UInt64) {
        do throws(PageFileError) { try file.read(at: number * UInt64(pageSize), into: &page) } catch {
            if error.isOfSystem { throw error }
            return ([], 0)
        }
        let start = number * UInt64(pageSize)
        switch LoosePage(page, number: number, scratch: &scratch) {
        case .names: return ([], 0)
        case .leaf(let entries, _):
            var values: [FoundValue] = []
            for (key, range) in entries {
                guard let (table, _) = ValueScan.outline(page, at: range.lowerBound) else { continue }
                let bytes = Array(page[range])
                // The key is told by the value, too.
                let own = ValueCheck.key(of: bytes, table) ?? key
                let isWhole = ValueCheck.isSound(bytes, table, key: own)
                values.append(
                    value(table, own, bytes, at: start + UInt64(range.lowerBound), origin, isWhole: isWhole))
            }
            return (values, 0)
        case .branch: return ([], 0)
        case .long, .other:
            if let long = try longValue(at: start + UInt64(PageScan.header), origin) {
                let pages = (PageScan.header + long.count - 1) / pageSize + 1
                return ([long], long.isWhole ? UInt64(pages) : 0)
            }
            return (shortValues(start, origin), 0)
        }
    }

    /// Returns the value that begins behind the header of a page and may be longer than the page.
    private mutating func longValue(at offset: UInt64, _ origin: ValueOrigin) throws -> FoundValue? {
        guard let (table, count) = ValueScan.outline(page, at: PageScan.header),
            offset + UInt64(count) <= byteCount, UInt64(count) <= allowance
        else { return nil }
        allowance -= UInt64(count)
        var bytes = [UInt8](repeating: 0, count: count)
        do throws(PageFileError) { try file.read(at: offset, into: &bytes) } catch {
            if error.isOfSystem { throw error }
            return nil
        }
        guard let key = ValueCheck.key(of: bytes, table) else { return nil }
        return value(table, key, bytes, at: offset, origin, isWhole: ValueCheck.isSound(bytes, table, key: key))
    }

    /// Returns the values of a damaged leaf page: each follows its key.
    ///
    /// The unused middle of a page keeps remains of entries that moved or were removed. So a value counts as an entry
    /// only if the list of entries names it, or if that list names one entry less than it has, and the value lies
    /// where entries are.
    private func shortValues(_ start: UInt64, _ origin: ValueOrigin) -> [FoundValue] {
        var found: [(value: FoundValue, offset: Int, isListed: Bool)] = []
        let list = entryOffsets
        var offset = PageScan.header
        while offset < page.count {
            guard let (table, count) = ValueScan.outline(page, at: offset), offset + count <= page.count else {
                offset += 1
                continue
            }
            let bytes = Array(page[offset..<offset + count])
            guard let key = ValueCheck.key(of: bytes, table), ValueScan.followsItsKey(page, at: offset, key) else {
                offset += 1
                continue
            }
            let isWhole = ValueCheck.isSound(bytes, table, key: key)
            found.append(
                (
                    value(table, key, bytes, at: start + UInt64(offset), origin, isWhole: isWhole), offset,
                    list.contains(offset - key.count - PageScan.entryHeader)
                ))
            // Remains may reach into an entry behind them.
            offset += isWhole ? count : 1
        }
        let isOneMissing = found.count(where: \.isListed) < list.count
        let begin = number(at: PageScan.beginOfEntries)
        return found.map { item in
            if item.isListed || isOneMissing && item.offset >= begin { return item.value }
            var value = item.value
            value.origin = min(origin, .unsure)
            return value
        }
    }

    private static let entryHeader = 8
    /// Where the header of a page says where the list of entries ends, and where the entries begin.
    private static let (endOfList, beginOfEntries) = (12, 14)

    private func number(at offset: Int) -> Int { Int(page[offset]) | Int(page[offset + 1]) << 8 }

    /// The offsets of the entries, as the page's list has them.
    private var entryOffsets: Set<Int> {
        let end = number(at: PageScan.endOfList)
        let isSound = end > PageScan.header && end < page.count
        var offsets: Set<Int> = []
        for place in stride(from: PageScan.header, to: isSound ? end : page.count - 1, by: 2) {
            let offset = number(at: place)
            // Where the end is not known, the list ends with the first number that is none.
            guard offset > place, offset < page.count else {
                if isSound { continue }
                break
            }
            offsets.insert(offset)
        }
        return offsets
    }

    private func value(
        _ table: TableCode, _ key: [UInt8], _ bytes: [UInt8], at offset: UInt64, _ origin: ValueOrigin, isWhole: Bool
    ) -> FoundValue {
        FoundValue(
            table: table, key: key, stamp: StoredValue.stamp(head: bytes.rawBytes), offset: offset,
            count: bytes.count, origin: origin, isWhole: isWhole)
    }
}
