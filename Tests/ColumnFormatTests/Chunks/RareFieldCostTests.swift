import HealthModel
import Testing
import TestSupport

@testable import ColumnFormat

/// Fields that few samples have must not make the other samples larger.
@Suite struct RareFieldCostTests {
    private static let lane = Lane(type: 4, duration: .hour)
    private static let key = ChunkKey(lane: lane, lower: .least)

    /// Steps as a phone counts them, imported and never changed.
    private static func plainRows(_ count: Int) -> [StoredRow] {
        var random = SeededGenerator()
        return (0..<count).map { index in
            let start = Int64(800_000_000 + 600 * index) * 1_000_000_000
            return StoredRow(
                start: start, end: start + 60_000_000_000, id: SampleID(using: &random),
                value: Double(random.number(1..<400)), unit: 1, revision: 1, flags: .imported, version: 1, clockTime: 0,
                clockReplica: 0, commit: 0, ordinal: 0)
        }
    }

    private static func encode(_ rows: [StoredRow]) -> (hot: [UInt8], details: [UInt8]) {
        let encoder = ChunkEncoder(pageSize: 4_096)
        return (
            encoder.encodeHot(
                encoder.plan(rows[...]), key: key, upper: .greatest, stamp: CommitStamp(commit: 9, session: 5)),
            encoder.encodeDetails(rows[...], key: key, upper: .greatest, stamp: CommitStamp(commit: 9, session: 5))
        )
    }

    private static func tags(_ bytes: [UInt8], _ table: TableCode) throws -> [UInt8] {
        let value = try StoredValue(bytes.rawBytes, table: table)
        return (0..<value.columns).map { value.tag($0) }
    }

    @Test("Without rare fields, the details are exactly the header and sixteen bytes an id")
    func absent() throws {
        for count in [1, 100, 500] {
            let (hot, details) = RareFieldCostTests.encode(RareFieldCostTests.plainRows(count))
            #expect(try RareFieldCostTests.tags(details, .details) == [ColumnTag.id.rawValue])
            let body = 8 + 16 * count + 8
            let block = 1 << ChunkEncoder.detailsBlockShift
            let head = 32 + RareFieldCostTests.key.bytes.count + Point.greatest.bytes.count + 8
            #expect(details.count == head + 4 * ((body + block - 1) / block) + 4 + body)
            #expect(try Set(RareFieldCostTests.tags(hot, .chunks)).isSubset(of: [1, 2, 3, 4, 5, 6]))
        }
    }

    @Test("A rare field of one sample adds one column to its chunk; removing the field restores the former bytes")
    func present() throws {
        let rows = RareFieldCostTests.plainRows(300)
        let (hot, details) = RareFieldCostTests.encode(rows)
        let fields: [(ColumnTag, (inout RareFields.Content) -> Void)] = [
            (.metadata, { $0.metadata = [1, 2] }), (.group, { $0.group = "meal" }),
            (.syncIdentifier, { $0.syncIdentifier = "w-1" }), (.local, { $0.local = [3] }),
            (.timeZone, { $0.timeZone = "Asia/Kathmandu" }), (.payload, { $0.payload = [4] }),
            (.original, { $0.original = [5] }), (.reversion, { $0.reversion = [6] }),
        ]
        for (tag, set) in fields {
            var changed = rows
            var content = RareFields.Content()
            set(&content)
            changed[7].rare = RareFields(content)
            let with = RareFieldCostTests.encode(changed)
            #expect(with.hot == hot)
            #expect(try RareFieldCostTests.tags(with.details, .details) == [ColumnTag.id.rawValue, tag.rawValue])
            changed[7].rare = RareFields(RareFields.Content())
            #expect(RareFieldCostTests.encode(changed).details == details)
        }
        for (tag, set) in [
            (ColumnTag.device, { (row: inout StoredRow) in row.device = 3 }), (.count, { $0.count = 60 }),
            (.multiplicity, { $0.multiplicity = 1 }),
        ] {
            var changed = rows
            set(&changed[7])
            let with = RareFieldCostTests.encode(changed)
            #expect(try RareFieldCostTests.tags(with.details, .details) == [ColumnTag.id.rawValue, tag.rawValue])
        }
    }
}
