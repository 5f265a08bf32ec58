import HealthModel
import Testing
import TestSupport

@testable import ColumnFormat

/// Encodes and decodes the fields of records, and metadata.
@Suite struct RecordCodingTests {
    @Test("Fields decode in the order in which they were written")
    func fields() throws {
        var record = RecordWriter()
        record.append(UInt8.max)
        record.append(Int64.min)
        record.append(SampleID.max)
        record.append("é\u{0}日本")
        record.append("")
        record.append(nil as String?)
        record.append("there" as String?)
        record.append([1, 2, 3] as [UInt8])
        let bytes = record.value(table: .peers, key: [1], stamp: CommitStamp(commit: 1, session: 5))
        var reader = try RecordReader(bytes.rawBytes, table: .peers, key: [1])
        #expect(try reader.read(UInt8.self) == .max)
        #expect(try reader.read(Int64.self) == .min)
        #expect(try reader.readID() == .max)
        #expect(try reader.readText() == "é\u{0}日本")
        #expect(try reader.readText() == "")
        #expect(try reader.readOptionalText() == nil)
        #expect(try reader.readOptionalText() == "there")
        #expect(try reader.readBytes() == [1, 2, 3])
        let isAtEnd = reader.isAtEnd
        #expect(isAtEnd)
        var thrown: FormatError?
        do { _ = try reader.read(UInt8.self) } catch { thrown = error }
        #expect(thrown?.code == .truncated)
    }

    @Test("A length beyond the record is refused before anything is read")
    func lyingLength() {
        for length in [4, 5, UInt32(Int32.max), .max] {
            var record = RecordWriter()
            record.append(length)
            record.append(1 as UInt8)
            record.append(2 as UInt8)
            record.append(3 as UInt8)
            let bytes = record.bytes
            #expect(
                failure {
                    var reader = RecordReader(fields: bytes.rawBytes)
                    _ = try reader.readBytes()
                }?.code == .truncated)
        }
    }

    @Test("Metadata of every kind decodes bit for bit, and equal sets encode to equal bytes")
    func metadata() throws {
        let metadata: [String: MetadataValue] = [
            "string": .string("日本"), "empty": .string(""), "number": .number(-0.0), "nan": .number(.nan),
            "true": .bool(true),
            "false": .bool(false), "past": .date(.distantPast), "quantity": .quantity(Quantity(.infinity, .pound)),
        ]
        let bytes = try #require(MetadataCoding.encode(metadata))
        let decoded = try MetadataCoding.decode(bytes)
        #expect(decoded.keys.sorted() == metadata.keys.sorted())
        #expect(MetadataCoding.encode(decoded) == bytes)
        var other: [String: MetadataValue] = [:]
        for key in metadata.keys.sorted().reversed() { other[key] = metadata[key] }
        #expect(MetadataCoding.encode(other) == bytes)
        #expect(MetadataCoding.encode([:]) == nil)
    }

    @Test("The maximum number of metadata entries decodes correctly")
    func manyEntries() throws {
        let metadata = Dictionary(
            uniqueKeysWithValues: (0..<255).map { ("key \($0)", MetadataValue.number(Double($0))) })
        #expect(try MetadataCoding.decode(#require(MetadataCoding.encode(metadata))) == metadata)
    }

    @Test("Damaged metadata is refused or read, and never ends the process")
    func damagedMetadata() throws {
        var random = SeededGenerator()
        let metadata: [String: MetadataValue] = [
            "a": .string("b"), "c": .quantity(Quantity(1, .liter)), "d": .date(.distantFuture),
        ]
        let bytes = try #require(MetadataCoding.encode(metadata))
        for count in 0..<bytes.count {
            #expect(failure { _ = try MetadataCoding.decode(Array(bytes[..<count])) } != nil)
        }
        for _ in 0..<5_000 { _ = failure { _ = try MetadataCoding.decode(Forgery.damaged(bytes, &random)) } }
    }
}
