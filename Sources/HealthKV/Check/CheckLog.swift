import ColumnFormat
import HealthModel
import LMDB

/// What a running check has found so far.
final class CheckLog {
    var report = CheckReport()
    private let limit: Int
    /// The keys of chunks that were reported, and their types. Findings that only follow from these are not reported.
    private(set) var damagedChunks: Set<[UInt8]> = []
    private(set) var damagedTypes: Set<UInt32> = []
    /// Types with values that are not finite.
    private(set) var oddTypes: Set<UInt32> = []
    /// The findings about chunks, by their indices.
    private var chunks: [(index: Int, key: ChunkKey)] = []
    /// The findings about values, by their indices.
    private var values: [(index: Int, table: TableCode, key: [UInt8])] = []
    /// The number of the current record in its table.
    private var record = 0

    init(limit: Int) { self.limit = limit }

    func noteDamage(ofChunk key: [UInt8]) {
        damagedChunks.insert(key)
        if let key = CheckLog.chunkKey(key) { noteDamage(ofType: key.lane.type) }
    }

    func noteDamage(ofType type: UInt32) { damagedTypes.insert(type) }

    func noteOddValue(ofType type: UInt32) { oddTypes.insert(type) }

    static func chunkKey(_ bytes: [UInt8]) -> ChunkKey? {
        let span = bytes.rawBytes
        return try? ChunkKey(span)
    }

    func add(
        _ kind: Finding.Kind, _ table: TableCode, _ detail: String, _ reference: String? = nil, key: [UInt8]? = nil,
        samples: Finding.Samples? = nil
    ) {
        var finding = Finding(
            kind: kind, table: table.name, detail: detail, reference: reference ?? key.map { CheckLog.reference($0) })
        finding.samples = samples
        guard let place = report.add(finding, limit: limit) else { return }
        if place.replaces {
            chunks.removeAll { $0.index == place.index }
            values.removeAll { $0.index == place.index }
        }
        if let key { values.append((place.index, table, key)) }
        if let key, table == .chunks || table == .details, let chunk = CheckLog.chunkKey(key) {
            chunks.append((place.index, chunk))
        }
    }

    /// Adds to the findings about chunks which samples they hold, as far as their neighbours and their other half tell.
    func locateChunks(_ snapshot: borrowing Snapshot) {
        for (index, key) in chunks {
            guard let type = try? NameTable.type(key.lane.type, in: snapshot) else { continue }
            var (upper, count): (Point?, Int?) = (nil, nil)
            if var cursor = try? snapshot.view.cursor(snapshot.tables[.chunks]),
                (try? cursor.seek(key.behindStored)) ?? false, let next = CheckLog.chunkKey(cursor.key.copied()),
                next.lane == key.lane
            {
                upper = next.lower
            }
            if let span = try? snapshot.view.get(snapshot.tables[.details], key.bytes),
                let details = try? DetailsChunk(span, key: key.bytes.rawBytes)
            {
                count = details.rows
            } else {
                try? ChunkTable.withChunk(key, in: snapshot) { count = $0.rows }
            }
            report.findings[index].samples = Finding.Samples(
                type: type, starts: CheckLog.starts(from: key.lower, to: upper), count: count)
        }
    }

    /// Adds to the findings about values on which page each value begins, unless it is in the journal.
    func locatePages(_ inspection: PageInspection, _ snapshot: borrowing Snapshot) {
        guard let walk = inspection.walk, let pageSize = inspection.metas.pageSize else { return }
        for (index, table, key) in values {
            guard let record = walk.tables.first(where: { $0.name == table.name })?.record,
                let place = inspection.file.place(of: key, in: record, pageSize: pageSize)
            else { continue }
            // The journal may hold another value of this key, which its header tells.
            var head = [UInt8](repeating: 0, count: min(place.count, StoredValue.keyOffsetLimit))
            guard (try? inspection.file.read(at: place.offset, into: &head)) != nil,
                let value = try? snapshot.view.getStored(snapshot.tables[table], key.rawBytes),
                value.byteCount == place.count,
                value.extracting(0..<head.count).copied() == head
            else { continue }
            report.findings[index].page = place.offset / UInt64(pageSize)
        }
    }

    /// The range of the starts between two points, of which the second is not in it.
    static func starts(from lower: Point, to upper: Point?) -> TimeRange {
        let end = upper.map { $0.start == .max ? Instant.distantFuture : Instant(nanoseconds: $0.start + 1) }
        return TimeRange(
            from: lower.start == .min ? .distantPast : Instant(nanoseconds: lower.start), to: end ?? .distantFuture)
    }

    /// Calls `body` with each value of a table. An error that it throws becomes a finding. Returns `true` if a newer
    /// release wrote one of the values: what seems to be missing may be there. With `counts`, the values are among the
    /// records that the report counts.
    @discardableResult
    func forEachValue(
        _ snapshot: borrowing Snapshot, _ table: TableCode, as kind: Finding.Kind = .recordUnreadable,
        counts: Bool = true, _ body: (RawSpan, [UInt8]) throws -> Void
    ) -> Bool {
        var hasNewer = false
        do {
            record = 0
            var cursor = try snapshot.view.cursor(snapshot.tables[table])
            while try cursor.next() {
                if counts { report.records += 1 }
                record += 1
                let key = cursor.key.copied()
                do {
                    try body(cursor.value, key)
                } catch {
                    let found = Finding.Kind(error, else: kind)
                    if found == .newerFormat { hasNewer = true }
                    add(found, table, "\(place): \(error)", key: key)
                }
            }
        } catch {
            add(Finding.Kind(error, else: kind), table, "\(error)")
        }
        return hasNewer
    }

    /// Describes the current record.
    var place: String { "record \(record)" }

    /// Names a type for a finding. Names that others gave are left out.
    static func name(_ type: UInt32) -> String {
        SampleType(catalogNumber: type).map { "type \($0.shortName)" } ?? "type number \(type)"
    }

    /// Formats a key for people who may see when something was measured.
    static func reference(_ key: [UInt8]) -> String {
        "key " + key.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
    }
}
