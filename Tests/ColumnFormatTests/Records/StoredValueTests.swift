import HealthModel
import Testing
import TestSupport

@testable import ColumnFormat

/// Every value is protected by its header and the checksums of its blocks.
@Suite struct StoredValueTests {
    private let key: [UInt8] = [9, 8, 7]
    private let stamp = CommitStamp(commit: 0x0102_0304_0506_0708, session: 0xFFFE_FDFC)

    private func value(_ columns: [[UInt8]], blockShift: Int = 8, upper: [UInt8] = [1]) -> [UInt8] {
        var builder = StoredValueBuilder(table: .names, key: key, upper: upper)
        for (index, column) in columns.enumerated() { builder.column(UInt8(index + 1)) { $0.bytes += column } }
        builder.rows = 5
        builder.marked = 2
        return builder.finish(stamp: stamp, blockShift: blockShift)
    }

    /// Reads every part of the value.
    private func read(_ bytes: [UInt8]) throws -> [[UInt8]] {
        let value = try StoredValue(bytes.rawBytes, table: .names)
        try value.expect(key: key)
        try value.verify()
        var columns: [[UInt8]] = []
        for index in 0..<value.columns {
            if let range = try value.column(value.tag(index)) {
                columns.append(bytes.rawBytes.extracting(range).copied())
            }
        }
        return columns
    }

    @Test("Columns of every length decode correctly, at every size of block", arguments: 8...16)
    func roundTrip(blockShift: Int) throws {
        for length in [0, 1, 7, 8, 247, 248, 249, 255, 256, 257, 4_095, 4_096, 4_097, 70_000] {
            let columns = [[UInt8](repeating: 1, count: length), [], [UInt8](repeating: 2, count: length / 2)]
            let bytes = value(columns, blockShift: blockShift)
            #expect(try read(bytes) == columns)
            let stored = try StoredValue(bytes.rawBytes, table: .names)
            #expect(stored.stamp == stamp)
            #expect((stored.rows, stored.marked, stored.columns) == (5, 2, 3))
            #expect(stored.upper.copied() == [1])
            // Bytes after the value, as in a page, do not matter.
            #expect(try read(bytes + [1, 2, 3]) == columns)
        }
    }

    @Test("Each single flipped bit is refused, wherever it is")
    func bitFlips() {
        let bytes = value([Array("some text of a column".utf8), [UInt8](repeating: 3, count: 700)])
        #expect(failure { _ = try read(bytes) } == nil)
        for bit in 0..<bytes.count * 8 {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(failure { _ = try read(damaged) } != nil, "bit \(bit)")
        }
    }

    @Test("Each truncation is refused, including one to no bytes")
    func truncation() {
        let bytes = value([[UInt8](repeating: 3, count: 700)])
        for count in 0..<bytes.count {
            #expect(failure { _ = try read(Array(bytes[..<count])) } != nil, "\(count) bytes")
        }
    }

    @Test("A value is refused in another table, under another key, of another version, sealed, or with an unknown flag")
    func misplacedOrNewer() throws {
        let bytes = value([[1]])
        #expect(failure { _ = try StoredValue(bytes.rawBytes, table: .meta) }?.code == .misplaced)
        #expect(failure { try StoredValue(bytes.rawBytes, table: .names).expect(key: [9, 8]) }?.code == .misplaced)
        for (offset, byte, code) in [
            (1, 3, FormatError.Code.newer), (1, 1, .older), (1, 0, .unknown), (2, 1, .sealed), (2, 6, .newer),
        ] {
            var changed = bytes
            changed[offset] = UInt8(byte)
            let forged = try #require(Forgery.resealed(changed))
            #expect(failure { _ = try read(forged) }?.code == code, "byte \(offset)")
        }
    }

    @Test("Forging an undamaged value restores its checksums, so the tests below exercise the bounds checks")
    func forgeryWorks() throws {
        var random = SeededGenerator()
        let bytes = value([[UInt8](repeating: 3, count: 700)])
        #expect(Forgery.resealed(bytes) == bytes)
        for _ in 0..<50 {
            let (hot, details) = TestChunk(random.number(1..<200), &random).encode()
            #expect(Forgery.resealed(hot) == hot)
            #expect(Forgery.resealed(details) == details)
        }
    }

    @Test("The checksum has not changed: it is part of the format")
    func checksum() {
        let bytes = (0..<200).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        let lengths = [0, 1, 7, 8, 63, 64, 65, 200]
        // Another program computed these from the description of the format.
        let golden: [UInt64] = [
            0x3C62_9DA5_AEA1_37F9, 0x16DB_83F3_A518_3D48, 0x547A_44A3_A8BF_61A0, 0x0BCA_EAF2_8784_8ABE,
            0xBBF5_1965_49FC_4002, 0xE517_9C48_CEE2_4ABA, 0x9AE2_5CCB_99CA_64C3, 0x83CC_2A54_5E41_F1BB,
        ]
        for (length, expected) in zip(lengths, golden) {
            // Zero bytes are a special case: the buffer has no base address.
            if length > 0 { #expect(Checksum.hash(Array(bytes[..<length]).rawBytes) == expected, "\(length) bytes") }
            #expect(Checksum.hash(bytes, 0..<length) == expected, "\(length) bytes")
        }
    }
}
