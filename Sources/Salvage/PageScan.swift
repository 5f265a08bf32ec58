import ColumnFormat
import PageReader

/// Finds the values on pages that are read one by one.
struct PageScan {
    private let file: PageFile
    private let pageSize: Int
    private let byteCount: UInt64
    private let rules: SalvageRules
    private var page: [UInt8]
    private var scratch: [UInt32] = []
    /// How many bytes of long values may still be read. Forged headers could name the same bytes again and again.
    private var allowance: UInt64

    /// LMDB's header of a page.
    private static let header = 16

    init(_ file: PageFile, pageSize: Int, byteCount: UInt64, _ rules: SalvageRules) {
        (self.file, self.pageSize, self.byteCount, self.rules) = (file, pageSize, byteCount, rules)
        page = [UInt8](repeating: 0, count: pageSize)
        allowance = 4 * byteCount
    }

    /// Whether the page that was read last may be in a hole of the file.
    var isInHole: Bool { file.isInHole(page) }

    /// Whether the page that was read last is sound: a page of a tree with whole values, or the first page of a long
    /// value that is whole.
    private(set) var isExplained = true

    /// Calls `body` with each value that is whole, as it stands in the file, on the pages for which `isSearched`
    /// returns `true`.
    mutating func forEachWhole(
        on isSearched: (UInt64) -> Bool, _ step: () throws -> Void, _ body: (FoundValue, [UInt8]) throws -> Void
    ) throws {
        var number: UInt64 = 2
        while number < byteCount / UInt64(pageSize) {
            try step()
            guard isSearched(number) else {
                number += 1
                continue
            }
            let found = try values(on: number, .unsure)
            for value in found.values where value.isWhole {
                var bytes = [UInt8](repeating: 0, count: value.count)
                do throws(PageFileError) { try file.read(at: value.offset, into: &bytes) } catch {
                    if error.isOfSystem { throw error }
                    continue
                }
                try body(value, bytes)
            }
            number += max(1, found.pages)
            if found.values.isEmpty, isInHole { number = try file.pageWithData(from: number, pageSize: pageSize) }
        }
    }

    /// Returns the values that begin on a page, and the number of pages that a long value takes; 0 if none does.
    mutating func values(on number: UInt64, _ origin: ValueOrigin) throws -> (values: [FoundValue], pages: UInt64) {
        isExplained = false
        do throws(PageFileError) { try file.read(at: number * UInt64(pageSize), into: &page) } catch {
            if error.isOfSystem { throw error }
            return ([], 0)
        }
        let start = number * UInt64(pageSize)
        switch LoosePage(page, number: number, scratch: &scratch) {
        case .names:
            isExplained = true
            return ([], 0)
        case .leaf(let entries, _):
            var values: [FoundValue] = []
            defer { isExplained = values.count == entries.count && values.allSatisfy(\.isWhole) }
            for (key, range) in entries {
                guard let (table, _) = ValueScan.outline(page, at: range.lowerBound) else { continue }
                let bytes = Array(page[range])
                // The key is told by the value, too.
                let own = ValueCheck.key(of: bytes, table) ?? key
                let isWhole = ValueCheck.isSound(bytes, table, key: own, rules)
                values.append(
                    value(table, own, bytes, at: start + UInt64(range.lowerBound), origin, isWhole: isWhole))
            }
            return (values, 0)
        case .branch:
            isExplained = true
            return ([], 0)
        case .long, .other:
            if let long = try longValue(at: start + UInt64(PageScan.header), origin) {
                isExplained = long.isWhole
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
        return value(table, key, bytes, at: offset, origin, isWhole: ValueCheck.isSound(bytes, table, key: key, rules))
    }

    /// Returns the values of a damaged leaf page: each follows its key.
    ///
    /// The unused middle of a page keeps remains of entries that moved or were removed. So a value counts as an entry
    /// only if the list of entries names it, or if it lies where entries are, and either the list names one entry less
    /// than it has places, or list and entries agree if the list is longer than the page's header says.
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
            let isWhole = ValueCheck.isSound(bytes, table, key: key, rules)
            found.append(
                (
                    value(table, key, bytes, at: start + UInt64(offset), origin, isWhole: isWhole), offset,
                    list.offsets.contains(offset - key.count - PageScan.entryHeader)
                ))
            // Remains may reach into an entry behind them.
            offset += isWhole ? count : 1
        }
        let begin = number(at: PageScan.beginOfEntries)
        let isTrusted = entriesFill(from: begin) || found.count(where: \.isListed) < list.places
        return found.map { item in
            if item.isListed || isTrusted && item.offset >= begin { return item.value }
            var value = item.value
            value.origin = min(origin, .unsure)
            return value
        }
    }

    private static let entryHeader = 8
    /// Where the header of a page says where the list of entries ends, and where the entries begin.
    private static let (endOfList, beginOfEntries) = (12, 14)

    private func number(at offset: Int) -> Int { Int(page[offset]) | Int(page[offset + 1]) << 8 }

    /// Whether entries follow one another without a gap from an offset to the end of the page, and the list begins with
    /// the offsets of exactly these, even if one wrong bit in the header gives it another length.
    private func entriesFill(from begin: Int) -> Bool {
        var offsets: Set<Int> = []
        var offset = begin
        while offset > PageScan.header, offset + PageScan.entryHeader <= page.count {
            offsets.insert(offset)
            // The value of an entry with this flag is on pages of its own, whose number stands here.
            let isLong = number(at: offset + 4) & 1 != 0
            let count = isLong ? 8 : number(at: offset) | number(at: offset + 2) << 16
            // Entries begin at even offsets.
            offset += (PageScan.entryHeader + number(at: offset + 6) + count + 1) & ~1
        }
        let listEnd = PageScan.header + 2 * offsets.count
        let wrongBits = (listEnd ^ number(at: PageScan.endOfList)).nonzeroBitCount
        guard offset == page.count, listEnd <= begin, wrongBits <= 1 else { return false }
        return Set(stride(from: PageScan.header, to: listEnd, by: 2).map { number(at: $0) }) == offsets
    }

    /// The offsets of the entries, as the page's list has them, and the number of places in the list. A place with a
    /// number that is no offset, or that another place has, stands for an entry, too.
    private var entryOffsets: (offsets: Set<Int>, places: Int) {
        let end = number(at: PageScan.endOfList)
        let isSound = end > PageScan.header && end < page.count
        var (offsets, places): (Set<Int>, Int) = ([], 0)
        for place in stride(from: PageScan.header, to: isSound ? end : page.count - 1, by: 2) {
            let offset = number(at: place)
            // Where the end is not known, the list ends with the first number that is none.
            guard offset > place, offset < page.count else {
                if isSound {
                    places += 1
                    continue
                }
                break
            }
            places += 1
            offsets.insert(offset)
        }
        return (offsets, places)
    }

    private func value(
        _ table: TableCode, _ key: [UInt8], _ bytes: [UInt8], at offset: UInt64, _ origin: ValueOrigin, isWhole: Bool
    ) -> FoundValue {
        FoundValue(
            table: table, key: key, stamp: StoredValue.stamp(head: bytes.rawBytes), offset: offset,
            count: bytes.count, origin: origin, isWhole: isWhole)
    }
}
