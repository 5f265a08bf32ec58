import ColumnFormat
import HealthModel
import PageReader

/// Checks every value that the sound pages of a damaged file still lead to, by ordinary reads: its checksums, its key,
/// and the columns of chunks. Skips checks that compare tables with each other: they make no sense for a file with
/// missing parts.
struct RawCheck: ~Copyable {
    private(set) var report: CheckReport
    /// Why the system could not read a value.
    private(set) var failure: PageFileError?
    private let limit: Int
    private var last: (key: ChunkKey, upper: Point)?
    /// The number of records of each table that were checked.
    private var places: [String: Int] = [:]
    /// Rows and commit of each chunk, to compare with its details.
    private var chunks: [ChunkKey: (rows: Int, commit: UInt64)] = [:]
    private var columns = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)
    private var values = ScratchColumn<Double>(capacity: ChunkEncoder.rowLimit)
    /// Whether the store says that it is sealed.
    private var isSealed = false

    init(_ report: CheckReport, limit: Int) {
        self.report = report
        self.limit = limit
    }

    private mutating func add(
        _ kind: Finding.Kind, _ table: String, _ detail: String, key: [UInt8]? = nil, page: UInt64? = nil
    ) {
        var finding = Finding(
            kind: kind, table: table, detail: detail, reference: key.map { CheckLog.reference($0) }, page: page)
        if let key { finding.locate(from: key, to: nil) }
        report.add(finding, limit: limit)
    }

    /// Notes that the check was stopped before its end.
    mutating func stop() { report.stoppedAt = .pages }

    /// Checks all values that the newest snapshot leads to. Calls `step` before each value; an error that it throws
    /// ends the check.
    mutating func run(_ inspection: PageInspection, _ step: () throws -> Void) rethrows {
        guard let meta = inspection.metas.newest else {
            report.unexamined.append("everything: no meta page leads to a snapshot")
            return
        }
        let table = inspection.walk?.tables.first { $0.name == TableCode.meta.name }?.record
        isSealed =
            table.flatMap { inspection.file.place(of: SealRecord.key, in: $0, pageSize: meta.pageSize) } != nil
        var options = SnapshotWalk.Options()
        options.limit = 0
        let walk = try SnapshotWalk(inspection.file, meta, options: options, visits: { TableCode(name: $0) != nil }) {
            try step()
            look(at: $0, meta)
        }
        failure = failure ?? walk.failure
        let found = Set(walk.tables.map(\.name))
        for code in TableCode.allCases where !found.contains(code.name) {
            report.unexamined.append("table \(code.name): the file does not name it")
        }
        if walk.unreadPages > 0 { report.unexamined.append("\(walk.unreadPages) pages, with all that they lead to") }
        report.unexamined.append("identity index, counts, feed and marks: they are compared in a file of sound pages")
        if isSealed {
            report.unexamined.append("what values hold: the store is sealed, and only who has its key can read it")
        }
    }

    private mutating func look(at entry: SnapshotWalk.Entry, _ meta: Meta) {
        guard let code = TableCode(name: entry.table) else { return }
        report.records += 1
        places[entry.table, default: 0] += 1
        do {
            let bytes = try entry.value()
            if SealedValue.isSealed(bytes.rawBytes) { return try lookAtSealed(bytes, entry.key, code) }
            if isSealed, SealedBodies.sealedTable(of: bytes.rawBytes) != nil {
                add(
                    RawCheck.kind(code), entry.table, "\(place(code)): not sealed, and the store is", key: entry.key,
                    page: entry.offset / UInt64(meta.pageSize))
            }
            switch code {
            case .chunks: try lookAtChunk(bytes, entry.key)
            case .details: try lookAtDetails(bytes, entry.key)
            case .meta where entry.key == StoreHeader.key: try lookAtHeader(bytes, meta)
            default:
                let value = try StoredValue(bytes.rawBytes, table: code)
                try value.expect(key: entry.key)
                try value.verify()
            }
        } catch let error as PageFileError where error.isOfSystem {
            failure = failure ?? error
        } catch {
            add(
                Finding.Kind(error, else: RawCheck.kind(code)), entry.table, "\(place(code)): \(error)",
                key: entry.key, page: entry.offset / UInt64(meta.pageSize))
            if code == .chunks { last = nil }
        }
    }

    /// Describes the current record by its number in its table.
    private func place(_ code: TableCode) -> String { "record \(places[code.name] ?? 0)" }

    private static func kind(_ code: TableCode) -> Finding.Kind {
        switch code {
        case .meta: .header
        case .chunks: .chunkUnreadable
        case .details: .detailsMismatch
        case .identity: .identityUnreadable
        default: .recordUnreadable
        }
    }

    /// Looks at a value whose body nobody can read here: its header and its checksums.
    private mutating func lookAtSealed(_ bytes: [UInt8], _ key: [UInt8], _ code: TableCode) throws {
        let rows = try SealedValue.verify(bytes.rawBytes, table: code, key: key)
        if code == .chunks { (report.chunks, report.samples) = (report.chunks + 1, report.samples + rows) }
    }

    private mutating func lookAtHeader(_ bytes: [UInt8], _ meta: Meta) throws {
        let header = try StoreHeader(bytes.rawBytes)
        if header.transaction != meta.transaction {
            add(
                .header, TableCode.meta.name,
                "the header belongs to transaction \(header.transaction), not \(meta.transaction)")
        }
    }

    private mutating func lookAtChunk(_ bytes: [UInt8], _ key: [UInt8]) throws {
        let chunk = try HotChunk(bytes.rawBytes, key: key.rawBytes)
        try chunk.verify()
        try columns.refill { column throws(FormatError) in try chunk.decodeStarts(into: &column) }
        try columns.refill { column throws(FormatError) in try chunk.decodeDurations(into: &column) }
        try values.refill { column throws(FormatError) in try chunk.decodeValues(into: &column) }
        report.chunks += 1
        report.samples += chunk.rows
        chunks[chunk.key] = (chunk.rows, chunk.value.commit)
        if let last, last.key.lane == chunk.key.lane, last.upper != chunk.key.lower {
            add(
                .chunkGap, TableCode.chunks.name, "before \(place(.chunks)) of \(CheckLog.name(chunk.key.lane.type))",
                key: key)
        }
        last = (chunk.key, chunk.upper)
    }

    private mutating func lookAtDetails(_ bytes: [UInt8], _ key: [UInt8]) throws {
        let details = try DetailsChunk(bytes.rawBytes, key: key.rawBytes)
        try details.verify()
        if let chunk = chunks[details.key], chunk.rows != details.rows || chunk.commit != details.value.commit {
            add(
                .detailsMismatch, TableCode.details.name, "\(place(.details)) is of another commit than its chunk",
                key: key)
        }
    }
}
