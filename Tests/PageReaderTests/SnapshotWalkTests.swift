import LMDB
import TestSupport
import Testing

@testable import PageReader

@Suite("Walking a snapshot")
struct SnapshotWalkTests {
    @Test("A file that LMDB wrote is sound, and the walk counts its tables as LMDB does", arguments: [true, false])
    func sound(isOnDisk: Bool) throws {
        let sample = try SampleFile()
        let folder = TemporaryFolder()
        let file = try isOnDisk ? sample.written(to: folder.path + "/data.mdb") : PageFile(bytes: sample.bytes)
        let metas = MetaPages(file)
        #expect(metas.findings.isEmpty)
        let meta = try #require(metas.newest)
        #expect(meta.transaction == UInt64(sample.transaction) && meta.lastPage == UInt64(sample.lastPage))
        var options = SnapshotWalk.Options()
        options.readsOverflowHeaders = true
        let walk = SnapshotWalk(file, meta, options: options)
        #expect(walk.findings == [])
        #expect(walk.tables.map(\.name) == SampleFile.tables)
        for table in walk.tables {
            let expected = try #require(sample.statistics[table.name])
            #expect(table.record.entries == UInt64(expected.entries) && table.record.depth == expected.depth)
            #expect(table.record.branchPages == UInt64(expected.branchPages))
            #expect(table.record.leafPages == UInt64(expected.leafPages))
            #expect(table.record.overflowPages == UInt64(expected.overflowPages))
        }
        #expect(walk.freePages == UInt64(sample.freePages) && walk.freePages > 0)
        #expect(walk.pagesInUse + walk.freePages == UInt64(sample.lastPage) + 1, "each page has one owner")
    }

    @Test("The older meta page is a snapshot too until its pages are reused")
    func previous() throws {
        let sample = try SampleFile(removing: false)
        let file = PageFile(bytes: sample.bytes)
        let metas = MetaPages(file)
        let previous = try #require(metas.page(of: UInt64(sample.transaction - 1)))
        #expect(previous.index != metas.newest?.index)
    }

    @Test("The walk yields entries with keys and values, short and long")
    func entries() throws {
        let sample = try SampleFile()
        let file = PageFile(bytes: sample.bytes)
        let meta = try #require(MetaPages(file).newest)
        var count = 0
        let walk = try SnapshotWalk(file, meta, visits: { $0 == "beta" }) { entry in
            count += 1
            let words = String(decoding: entry.key, as: UTF8.self).split(separator: " ")
            let number = try #require(Int(words[1]))
            let value = try entry.value()
            #expect(value.allSatisfy { $0 == UInt8(number % 251) })
            #expect(value.count == number % 90 || value.count == 3_000 + number * 3)
            #expect(entry.leaf.isInline == (value.count < 2_000))
        }
        #expect(walk.isSound && count == sample.statistics["beta"]?.entries)
    }

    @Test("A file may end before its last page if only free pages follow, but not before a page in use")
    func shorter() throws {
        let sample = try SampleFile()
        let size = SampleFile.pageSize
        var sound = 0
        for pages in stride(from: sample.bytes.count / size, to: sample.bytes.count / size - 12, by: -1) {
            let kinds = SampleFile.kinds(Array(sample.bytes.prefix(pages * size)))
            if kinds.isEmpty { sound += 1 } else { #expect(kinds.isSubset(of: [.pageOutOfRange])) }
        }
        #expect(sound >= 1)
        #expect(SampleFile.kinds(Array(sample.bytes.prefix(8 * size))).contains(.pageOutOfRange))
        #expect(SampleFile.kinds(Array(sample.bytes.prefix(size + 100))).contains(.fileUnreadable))
        #expect(SampleFile.kinds([]) == [.fileUnreadable])
    }

    @Test("A page at the position of another one is found")
    func swapped() throws {
        let sample = try SampleFile()
        let leaves = sample.pages(kind: 2)
        let size = SampleFile.pageSize
        var bytes = sample.bytes
        let (one, other) = (leaves[1] * size, leaves[2] * size)
        bytes.replaceSubrange(one..<one + size, with: sample.bytes[other..<other + size])
        #expect(SampleFile.kinds(bytes).contains(.pageKind))
    }

    @Test("Offsets that leave the page or overlap are found", arguments: [12, 14, 16, 18])
    func entryBounds(offset: Int) throws {
        let sample = try SampleFile()
        var found = 0
        for page in sample.pages(kind: 2) + sample.pages(kind: 1) {
            var bytes = sample.bytes
            bytes[page * SampleFile.pageSize + offset] ^= 0x12
            let kinds = SampleFile.kinds(bytes)
            found += kinds.isEmpty ? 0 : 1
            #expect(kinds.isEmpty || !kinds.isDisjoint(with: [.pageEntries, .keyOrder, .treeShape, .freeList]))
        }
        #expect(found > 5)
    }

    @Test("Keys out of order are found")
    func keyOrder() throws {
        let sample = try SampleFile()
        var bytes = sample.bytes
        let page = try #require(sample.pages(kind: 2).first { sample.number16($0 * 4_096 + 12) > 16 + 20 })
        let at = page * SampleFile.pageSize + 16
        bytes.swapAt(at, at + 2)
        bytes.swapAt(at + 1, at + 3)
        let kinds = SampleFile.kinds(bytes)
        #expect(kinds.contains(.keyOrder) || kinds.isEmpty)
        #expect(kinds.contains(.keyOrder), "page \(page)")
    }

    @Test("A branch that leads twice to one page, to itself or out of range ends the walk with findings")
    func branches() throws {
        let sample = try SampleFile()
        // Free branches of older transactions remain in the file; a branch is in use if damage to it is found.
        let branch = try #require(
            sample.pages(kind: 1).first { page in
                var bytes = sample.bytes
                bytes[page * SampleFile.pageSize] ^= 1
                return !SampleFile.kinds(bytes).isEmpty
            })
        let at = branch * SampleFile.pageSize
        let (first, second) = (at + sample.number16(at + 16), at + sample.number16(at + 18))
        for (target, kind) in [
            (sample.number16(first), PageFinding.Kind.pageUsedTwice), (branch, .pageUsedTwice),
            (60_000, .pageOutOfRange),
            (0, .pageOutOfRange),
        ] {
            var bytes = sample.bytes
            bytes[second] = UInt8(truncatingIfNeeded: target)
            bytes[second + 1] = UInt8(truncatingIfNeeded: target >> 8)
            #expect(SampleFile.kinds(bytes).contains(kind), "to page \(target)")
        }
    }

    @Test("A table of a kind that stores never use is found: one with several values under a key")
    func severalValues() throws {
        let sample = try SampleFile()
        let meta = try #require(MetaPages(PageFile(bytes: sample.bytes)).newest)
        let page = Int(meta.main.root) * SampleFile.pageSize
        let node = page + sample.number16(page + 16)
        // The record of the tree follows the header of the entry and its key; its flags are at offset 4.
        let flags = node + 8 + sample.number16(node + 6) + 4
        var bytes = sample.bytes
        bytes[flags] |= 0x04
        #expect(SampleFile.kinds(bytes).contains(.treeKind))
    }

    @Test("A free page that is in use is found, and so is a free list out of order")
    func freeList() throws {
        let sample = try SampleFile()
        let file = PageFile(bytes: sample.bytes)
        let meta = try #require(MetaPages(file).newest)
        let page = try #require(sample.pages(kind: 2).first { $0 == Int(meta.free.root) }, "one leaf of lists")
        let node = page * SampleFile.pageSize + sample.number16(page * SampleFile.pageSize + 16)
        let list = node + 8 + 8
        var used = sample.bytes
        used[list + 8] = UInt8(truncatingIfNeeded: meta.main.root)
        used[list + 9] = UInt8(truncatingIfNeeded: meta.main.root >> 8)
        #expect(!SampleFile.kinds(used).isDisjoint(with: [.freePageInUse, .freeList]))
        var long = sample.bytes
        long[list + 2] = 1
        #expect(SampleFile.kinds(long).contains(.freeList))
    }

    @Test("A long list of free pages is read completely, piece by piece")
    func longFreeList() throws {
        let folder = TemporaryFolder()
        let environment = try Environment(folder: folder.path, options: .init(mapSize: 128 << 20, scratch: true))
        for isRemoved in [false, true] {
            var transaction = try environment.beginWrite()
            let table = try environment.openTable(named: "values", in: &transaction)
            for number in 0..<40 as Range<UInt8> {
                if isRemoved {
                    try transaction.delete(table, [number])
                } else {
                    try transaction.put(table, [number], [UInt8](repeating: number, count: 1 << 20))
                }
            }
            try transaction.commit()
        }
        let free = try freePages(environment)
        environment.close()
        let file = try PageFile(path: folder.path + "/data.mdb")
        let walk = SnapshotWalk(file, try #require(MetaPages(file).newest))
        #expect(walk.findings == [] && walk.freePages == UInt64(free) && free > 8_192)
    }

    private func freePages(_ environment: Environment) throws -> Int {
        let transaction = try environment.beginRead()
        return try transaction.view.freeStatistics().freePages
    }

    @Test("The memory of a page set depends on its elements, not on the size of the page numbers")
    func pageSet() {
        var set = PageSet()
        for page in [0, 63, 64, 4_095, 4_096, 1 << 40, .max] as [UInt64] {
            let (isNew, isNewAgain) = (set.insert(page), set.insert(page))
            #expect(isNew && !isNewAgain, "\(page)")
        }
    }

    @Test("A long value whose first page is of another kind is found when page headers are read")
    func overflow() throws {
        let sample = try SampleFile()
        let page = try #require(
            sample.pages(kind: 4).last { page in
                var bytes = sample.bytes
                bytes[page * SampleFile.pageSize + 12] &+= 1
                return !SampleFile.kinds(bytes).isEmpty
            })
        var bytes = sample.bytes
        bytes[page * SampleFile.pageSize + 10] = 2
        #expect(SampleFile.kinds(bytes).contains(.overflowPages))
        #expect(SampleFile.kinds(bytes, readsHeaders: false).isEmpty, "without headers, long values are skipped")
    }

    @Test("A wrong bit in the header of a long value is reported, and all values are visited if that is wanted")
    func reportedOverflow() throws {
        let sample = try SampleFile()
        var used: [Int] = []
        let whole = PageFile(bytes: sample.bytes)
        _ = SnapshotWalk(
            whole, try #require(MetaPages(whole).newest),
            onPage: { if $0.kind == .overflow, $0.table == "beta" { used.append(Int($0.number)) } },
            visits: { _ in false }, visit: { _ in })
        try #require(used.count > 2)
        func walk(_ bytes: [UInt8]) throws -> (findings: [PageFinding], values: Int, pages: UInt64) {
            let file = PageFile(bytes: bytes)
            var options = SnapshotWalk.Options()
            options.reportsOverflowHeaders = true
            var count = 0
            let walk = try SnapshotWalk(
                file, try #require(MetaPages(file).newest), options: options, visits: { $0 == "beta" }
            ) { entry in
                let words = String(decoding: entry.key, as: UTF8.self).split(separator: " ")
                let number = try #require(Int(words[1]))
                let value = try entry.value()
                #expect(value.allSatisfy { $0 == UInt8(number % 251) })
                count += 1
            }
            #expect(walk.holes.isEmpty && walk.unreadPages == 0)
            return (walk.findings, count, walk.pagesInUse)
        }
        let sound = try walk(sample.bytes)
        #expect(sound.findings == [] && sound.values == sample.statistics["beta"]?.entries)
        let page = used[used.count / 2]
        // The number of the page, its flags, and its number of pages; nothing reads the two bytes between.
        for bit in 0..<128 where bit / 8 != 8 && bit / 8 != 9 {
            var bytes = sample.bytes
            bytes[page * SampleFile.pageSize + bit / 8] ^= 1 << UInt8(bit % 8)
            let found = try walk(bytes)
            #expect(found.findings.map(\.kind) == [.overflowPages], "page \(page), bit \(bit)")
            #expect(found.values == sound.values && found.pages == sound.pages, "page \(page), bit \(bit)")
            #expect(!SampleFile.kinds(bytes).isEmpty, "page \(page), bit \(bit): a strict walk finds it, too")
        }
    }
}
