import HealthModel
import TestSupport

@testable import ColumnFormat

/// The dictionary entries that rows of tests use: revision n belongs to source n / 2.
final class TestNames: DerivedIDResolver {
    static let type = SampleType.bodyMass

    func derivedPrefix(type: UInt32, revision: UInt32) -> DerivedID.Prefix? {
        guard revision < 100 else { return nil }
        return DerivedID.Prefix(type: TestNames.type, source: SourceIdentity(name: "source \(revision / 2)"))
    }

    func canonicalValue(_ value: Double, unit: UInt32, type: UInt32) -> Double {
        HealthUnit(number: unit).map { DerivedID.canonical(value, $0, of: TestNames.type) } ?? value
    }
}

/// Random rows of a lane, sorted and without duplicates, and the two values of their chunk.
struct TestChunk {
    var lane: Lane
    var rows: [StoredRow]
    var lower = Point.least
    var upper = Point.greatest

    var key: ChunkKey { ChunkKey(lane: lane, lower: lower) }

    init(_ count: Int, _ random: inout SeededGenerator) {
        lane = Lane(type: 1, duration: random.pick(DurationClass.allCases))
        let plain = random.chance(0.3)
        let derives = random.pick([0, 0.5, 1])
        let base = random.pick([800_000_000, 0, -9_000_000_000]) * 1_000_000_000
        var points: Set<Point> = []
        rows = []
        while rows.count < count {
            var row = TestChunk.row(lane, base + random.number(0..<max(2, count)) * 60_000_000_000, plain, &random)
            if random.chance(derives) { TestChunk.derive(&row, lane) }
            if points.insert(row.point).inserted { rows.append(row) }
        }
        rows.sort { $0.point < $1.point }
    }

    private static func row(_ lane: Lane, _ start: Int, _ plain: Bool, _ random: inout SeededGenerator) -> StoredRow {
        let start = Int64(start) + (random.chance(0.1) ? Int64(random.number(0..<1_000)) : 0)
        let hour = 3_600_000_000_000
        let length: Int =
            switch lane.duration {
            case .hour: random.pick([0, 0, 1, 60_000_000_000, hour])
            case .day: random.pick([hour + 1, 24 * hour])
            case .month: random.pick([24 * hour + 1, 768 * hour])
            case .long: random.pick([768 * hour + 1, 1_000_000 * hour, -1])
            }
        var row = StoredRow(
            start: start, end: length < 0 ? .max : start + Int64(length), id: SampleID(using: &random),
            value: plain ? 72.5 : random.pick(Adversary.doubles), unit: plain ? 2 : UInt32(random.pick([2, 3, 5])),
            revision: plain ? 1 : UInt32(random.number(0..<6)),
            flags: StoredRow.Flags(rawValue: UInt16(random.number(0..<16))),
            version: random.pick([1, 1, 7, Int64.max / 2]), clockTime: Int64(bitPattern: random.next()),
            clockReplica: UInt32(truncatingIfNeeded: random.next()), commit: UInt64(random.number(0..<9)),
            ordinal: UInt32(random.number(0..<3_000)))
        if plain { return row }
        row.device = UInt32(random.pick([0, 0, 1, 4_000_000_000]))
        row.count = random.pick([1, 1, 60, .max])
        row.multiplicity = random.pick([0, 0, 1, .max])
        var rare = RareFields.Content()
        rare.syncIdentifier = random.chance(0.1) ? "sync \(random.number(0..<5))" : nil
        rare.group = random.chance(0.1) ? "é" : nil
        rare.metadata = random.chance(0.1) ? [UInt8](repeating: 7, count: 40) : nil
        rare.local = random.chance(0.05) ? [UInt8](repeating: 8, count: random.number(0..<40)) : nil
        rare.timeZone = random.chance(0.05) ? "Asia/Kathmandu" : nil
        rare.payload = random.chance(0.05) ? [UInt8](repeating: 9, count: random.number(0..<900)) : nil
        rare.original = random.chance(0.05) ? [1, 2, 3] : nil
        rare.reversion = random.chance(0.05) ? [4, 5] : nil
        row.rare = RareFields(rare)
        return row
    }

    private static func derive(_ row: inout StoredRow, _ lane: Lane) {
        let names = TestNames()
        row.flags.insert(.derivedID)
        row.id = DerivedID.id(
            names.derivedPrefix(type: lane.type, revision: row.revision)!, start: row.start, end: row.end,
            value: names.canonicalValue(row.value, unit: row.unit, type: lane.type), multiplicity: Int(row.multiplicity)
        )
    }

    func encode(commit: UInt64 = 9) -> (hot: [UInt8], details: [UInt8]) {
        let encoder = ChunkEncoder(pageSize: 4_096)
        guard !rows.isEmpty else {
            return encoder.encodeEmpty(key: key, upper: upper, stamp: CommitStamp(commit: commit, session: 5))
        }
        return (
            encoder.encodeHot(
                encoder.plan(rows[...]), key: key, upper: upper, stamp: CommitStamp(commit: commit, session: 5)),
            encoder.encodeDetails(rows[...], key: key, upper: upper, stamp: CommitStamp(commit: commit, session: 5))
        )
    }
}

extension StoredRow {
    /// All fields of a row.
    var everything: [String] {
        [
            "\(start)", "\(end)", "\(id)", "\(value.bitPattern)", "\(unit)", "\(revision)", "\(flags.rawValue)",
            "\(version)",
            "\(clockTime)", "\(clockReplica)", "\(commit)", "\(ordinal)", "\(device)", "\(count)", "\(multiplicity)",
            "\(String(describing: rare?.content))",
        ]
    }
}

/// Reads a chunk in every available way and returns its rows. Throws if a value is refused; it must never trap.
@discardableResult
func readEverything(_ hot: [UInt8], _ details: [UInt8], _ key: ChunkKey) throws -> [StoredRow] {
    let keyBytes = key.bytes
    let names = TestNames()
    let chunk = try HotChunk(hot.rawBytes, key: keyBytes.rawBytes)
    let cold = try DetailsChunk(details.rawBytes, key: keyBytes.rawBytes)
    let decoder = try ChunkDecoder(hot: chunk, details: cold)
    let rows = try decoder.rows(names)
    _ = try (chunk.commonUnit(), chunk.commonRevision(), cold.commonCommit())
    if chunk.rows > 0 { _ = try chunk.distinctRevisions() }
    for row in rows.indices where rows.count < 20 || row % 97 == 0 {
        for stretch in [rows[row].start...rows[row].start, Int64.min...rows[row].start, rows[row].start...Int64.max] {
            let found = try chunk.find(startingIn: stretch)
            guard try decoder.row(at: row, of: found, names).everything == rows[row].everything else {
                throw FormatError(.invalid, "one row")
            }
        }
        let part = try decoder.rows(row..<min(rows.count, row + 3), names)
        guard part.map(\.everything) == rows[row..<min(rows.count, row + 3)].map(\.everything) else {
            throw FormatError(.invalid, "some rows")
        }
        for (text, kind) in [
            (rows[row].rare?.syncIdentifier, DetailsChunk.Text.syncIdentifier), (rows[row].rare?.group, .group),
        ] {
            guard let bytes = text.map({ Array($0.utf8) }) else { continue }
            let here = try cold.rows(with: bytes, kind, in: row..<row + 1)
            let near = try cold.rows(with: bytes, kind, in: row..<min(rows.count, row + 9))
            guard here == [row], near.first == row, near == near.filter({ rows[$0].rare?.text(kind) == text }),
                try cold.rows(with: bytes + [0], kind, in: row..<row + 1).isEmpty
            else { throw FormatError(.invalid, "rows by text") }
        }
        let starting = try chunk.find(startingIn: rows[row].start...rows[row].start).rows
        guard starting.contains(row) else { throw FormatError(.invalid, "rows by start") }
        let found = try cold.row(of: rows[row].id, in: starting)
        guard rows[row].flags.contains(.derivedID) || found == row else { throw FormatError(.invalid, "row by id") }
        guard try chunk.revision(at: row) == rows[row].revision else { throw FormatError(.invalid, "revision") }
        let commit = rows[row].commit
        let places = try cold.places(of: commit...commit)
        guard places.contains(where: { $0.commit == commit && $0.ordinal == rows[row].ordinal }) else {
            throw FormatError(.invalid, "order")
        }
    }
    var starts = ScratchColumn<Int64>(capacity: chunk.rows)
    var values = ScratchColumn<Double>(capacity: chunk.rows)
    try starts.refill { column throws(FormatError) in try chunk.decodeStarts(into: &column) }
    try values.refill { column throws(FormatError) in try chunk.decodeValues(into: &column) }
    for (row, stored) in rows.enumerated() {
        guard starts.span[row] == stored.start, values.span[row].bitPattern == stored.value.bitPattern else {
            throw FormatError(.invalid, "columns")
        }
    }
    return rows
}

extension RareFields {
    fileprivate func text(_ kind: DetailsChunk.Text) -> String? { kind == .group ? group : syncIdentifier }
}
