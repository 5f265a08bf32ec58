import LMDB
import Testing
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Long values have pages of their own; the first of these pages records their number.
@Suite struct LongValueTests {
    /// A field of the first page of a long value, and the damage to it.
    enum Field: CaseIterable {
        case number, kind, tooMany, tooFew, none

        fileprivate var damage: (offset: Int, byte: UInt8) {
            switch self {
            case .number: (0, 2)
            case .kind: (10, 2)
            case .tooMany: (12, 5)
            case .tooFew: (12, 1)
            case .none: (12, 0)
            }
        }
    }

    private static let length = 10_000

    /// Creates a table of long values and damages the first page of each.
    private func damaged(_ field: Field, _ folder: TemporaryFolder) throws -> Environment {
        let sound = try Environment.small(folder)
        let table = try sound.makeTable()
        try sound.write { transaction in
            for key in UInt8(0)..<20 {
                try transaction.put(table, [key], [UInt8](repeating: key, count: Self.length))
            }
        }
        sound.close()
        let descriptor = unsafe open(folder.path + "/data.mdb", O_RDWR)
        defer { close(descriptor) }
        let size = lseek(descriptor, 0, SEEK_END)
        var damagedPages = 0
        for page in stride(from: 8_192, to: size, by: 4_096) {
            var header = [UInt8](repeating: 0, count: 16)
            guard unsafe pread(descriptor, &header, 16, page) == 16, header[10] == 4,
                Int(header[0]) + Int(header[1]) << 8 == Int(page) / 4_096, header[12] == 3
            else { continue }
            var byte = field.damage.byte
            #expect(unsafe pwrite(descriptor, &byte, 1, page + off_t(field.damage.offset)) == 1)
            damagedPages += 1
        }
        #expect(damagedPages == 20)
        return try Environment.small(folder)
    }

    @Test(
        "A long value whose first page states wrong pages is neither replaced nor removed, and costs no other value",
        arguments: Field.allCases)
    func damagedHeader(field: Field) throws {
        let folder = TemporaryFolder()
        let environment = try damaged(field, folder)
        let table = try #require(try environment.read { try environment.openTable(named: "table", in: $0) })
        for size in [1, 5_000, Self.length, 20_000] {
            let value = [UInt8](repeating: 7, count: size)
            #expect(code { try environment.write { try $0.put(table, [3], value) } } == .corrupted)
        }
        let filled = code {
            try environment.write { transaction in
                try transaction.put(table, [3], byteCount: 1) { $0.append(7) }
            }
        }
        #expect(filled == .corrupted)
        #expect(code { _ = try environment.write { try $0.delete(table, [3]) } } == .corrupted)
        #expect(code { try environment.write { try $0.clear(table) } } == .corrupted)
        #expect(try environment.write { try $0.insert(table, [3], [1]) } == false)
        try environment.write { transaction in
            for key in UInt8(100)..<140 { try transaction.put(table, [key], [UInt8](repeating: key, count: 5_000)) }
        }
        for key in UInt8(0)..<20 {
            #expect(try environment.value(table, [key]) == [UInt8](repeating: key, count: Self.length))
        }
    }

    @Test("A value that is replaced by a shorter one in the same transaction frees the pages that it no longer needs")
    func shortened() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        let sizes = [30_000, 9_000, 4_100, 2_000, 1, 2_100, 50_000, 100, 20_000]
        try environment.write { transaction in
            for (key, _) in sizes.enumerated() {
                for size in sizes { try transaction.put(table, [UInt8(key)], [UInt8](repeating: 1, count: size)) }
            }
        }
        #expect(try environment.read { try $0.view.statistics(table).overflowPages } == 5 * sizes.count)
        try environment.write { transaction in
            try transaction.put(table, [0], [UInt8](repeating: 2, count: 5_000))
            try transaction.nested { try $0.put(table, [0], [UInt8](repeating: 3, count: 100)) }
        }
        #expect(try environment.read { try $0.view.statistics(table).overflowPages } == 5 * (sizes.count - 1))
        try environment.expectIntact()
        for size in sizes.reversed() {
            try environment.write { try $0.put(table, [1], [UInt8](repeating: 4, count: size)) }
            #expect(try environment.value(table, [1])?.count == size)
        }
        try environment.write { try $0.clear(table) }
        try environment.expectIntact()
    }
}
