import ColumnFormat
import HealthModel
import LMDB
import PageReader

/// The pages of a data file, inspected by ordinary reads: LMDB neither opens nor maps the file.
struct PageInspection {
    let file: PageFile
    let metas: MetaPages
    /// The walk over the newest sound snapshot; `nil` if no meta page leads to one.
    let walk: SnapshotWalk?
    let findings: [Finding]
    let omitted: Int

    /// A concurrent writer may reuse pages of this snapshot while they are read. Then the inspection is repeated.
    private static let attempts = 5

    /// Inspects the newest snapshot of the data file in a folder.
    ///
    /// - Parameter atWalk: Called when the meta pages are read and the others are not, so that tests can write
    ///   meanwhile.
    init(folder: String, limit: Int, atWalk: () throws -> Void = {}) throws {
        let file = try PageFile(ofStore: folder)
        var inspection = try PageInspection(file, folder, limit: limit, atWalk)
        for _ in 1..<PageInspection.attempts
        where !inspection.isSound && (inspection.hasMoved || inspection.walk == nil) {
            inspection = try PageInspection(file, folder, limit: limit, atWalk)
        }
        self = inspection
    }

    /// Inspects the snapshot of a transaction that is kept open; `nil` if its meta page was overwritten.
    init?(folder: String, transaction: UInt64, limit: Int) throws {
        let file: PageFile
        do {
            file = try PageFile(path: StoreFiles.dataPath(in: folder))
        } catch  where error == .noSuchFile {
            return nil
        } catch {
            throw StoreError.unopened(folder, error)
        }
        let metas = MetaPages(settled: file)
        if let failure = metas.failure { throw StoreError.unreadable(folder, failure) }
        if metas.pages == [nil, nil], file.isOfOtherKind { throw StoreError.otherFile(folder) }
        guard let meta = metas.page(of: transaction) else { return nil }
        try self.init(file, folder, metas, meta, limit: limit)
    }

    private init(_ file: PageFile, _ folder: String, limit: Int, _ atWalk: () throws -> Void) throws {
        let metas = MetaPages(settled: file)
        try atWalk()
        try self.init(file, folder, metas, metas.newest, limit: limit)
    }

    /// Throws if the system cannot read the file: that is not a finding about its contents.
    private init(_ file: PageFile, _ folder: String, _ metas: MetaPages, _ meta: Meta?, limit: Int) throws {
        if let failure = metas.failure { throw StoreError.unreadable(folder, failure) }
        if metas.pages == [nil, nil], file.isOfOtherKind { throw StoreError.otherFile(folder) }
        (self.file, self.metas) = (file, metas)
        var findings = metas.findings.map { Finding($0) }
        var omitted = 0
        var walk: SnapshotWalk?
        if let meta {
            var options = SnapshotWalk.Options()
            options.readsOverflowHeaders = true
            options.limit = max(0, limit - findings.count)
            options.holeLimit = options.limit
            let walked = SnapshotWalk(file, meta, options: options)
            if let failure = walked.failure { throw StoreError.unreadable(folder, failure) }
            findings += walked.findings.map { Finding($0, walked.holes) }
            omitted = walked.omitted
            if let lost = walked.lostPages { findings.append(Finding(lost)) }
            walk = walked
        }
        (self.walk, self.findings, self.omitted) = (walk, findings, omitted)
    }

    var isSound: Bool { findings.isEmpty && omitted == 0 }

    /// Why the header cannot be read, if another release wrote the store.
    var otherFormat: FormatError? {
        guard let walk, let pageSize = metas.pageSize,
            let record = walk.tables.first(where: { $0.name == TableCode.meta.name })?.record,
            let header = file.value(of: StoreHeader.key, in: record, pageSize: pageSize)
        else { return nil }
        return StoreHeader.otherFormat(header.rawBytes)
    }

    /// Whether another commit has happened since. Then findings about pages that no reader protected prove nothing.
    var hasMoved: Bool { MetaPages(file).newest?.transaction != metas.newest?.transaction }
}

extension PageFile {
    /// Opens the data file of the store in a folder, by whose rules no store may be reached by a link.
    convenience init(ofUnlinkedStore folder: String) throws(StoreError) {
        try OpeningRules.refuseLinks(folder)
        try self.init(ofStore: folder)
    }

    /// Opens the data file of the store in a folder.
    convenience init(ofStore folder: String) throws(StoreError) {
        do {
            try self.init(path: StoreFiles.dataPath(in: folder))
        } catch  where error == .noSuchFile {
            throw StoreError(.noStore, path: folder, "data.mdb cannot be opened", underlying: error)
        } catch {
            throw StoreError.unopened(folder, error)
        }
    }
}

extension Finding {
    /// The table name of findings about pages that belong to no table.
    static let pages = "pages"

    /// The finding in words, after the table.
    var text: String { "\(table): \(detail)" }

    /// Creates the finding about pages that nothing owns.
    init(_ lost: (all: UInt64, owned: UInt64)) {
        let detail = "\(lost.all) pages, of which \(lost.owned) are in use or listed as free"
        self.init(kind: .pagesLost, table: Finding.pages, detail: detail)
    }

    /// - Parameter holes: the ranges of keys that damaged pages hide.
    init(_ finding: PageFinding, _ holes: [SnapshotWalk.Hole] = []) {
        let place = finding.page.map { "page \($0): " } ?? ""
        self.init(
            kind: Kind(rawValue: finding.kind.rawValue) ?? .pageUnreadable, table: finding.table ?? Finding.pages,
            detail: place + finding.detail, page: finding.page)
        let own = holes.filter { $0.table == finding.table }
        if let hole = own.first(where: { $0.holds(finding.page) }) {
            locate(from: hole.lower, to: hole.value.map(\.next) ?? hole.upper)
        }
    }

    /// Says which samples lie between two keys of chunks or details, if they are of one type of the catalog.
    mutating func locate(from lower: [UInt8], to upper: [UInt8]?) {
        guard table == TableCode.chunks.name || table == TableCode.details.name,
            let first = CheckLog.chunkKey(lower), let type = SampleType(catalogNumber: first.lane.type)
        else { return }
        let next = upper.flatMap { CheckLog.chunkKey($0) }
        guard next.map({ $0.lane.type == first.lane.type }) ?? true else { return }
        let starts = CheckLog.starts(from: first.lower, to: next?.lane == first.lane ? next?.lower : nil)
        samples = Samples(type: type, starts: starts)
    }
}
