import ColumnFormat
import PageReader

/// What the trees of one snapshot lead to: which values are damaged, and which ranges of keys cannot be reached.
struct TreeSurvey {
    let meta: Meta
    let walk: SnapshotWalk
    /// The header of the store; `nil` if the trees do not lead to one that is sound.
    private(set) var facts: HeaderFacts?
    private(set) var holes: [TableCode: [SnapshotWalk.Hole]] = [:]
    /// The values in the trees that are damaged, mended or not.
    private(set) var damaged: [FoundValue] = []
    /// Pages to search for values, although a tree accounts for them.
    private(set) var suspects: Set<UInt64> = []
    /// Whether all records together are of one state: their sum is the one in the header.
    private(set) var isOfOneState = true
    /// The number of whole values, by table.
    private(set) var found: [TableCode: Int] = [:]
    /// The greatest commit of a whole value.
    private(set) var lastCommit = CommitStamp(commit: 0, session: 0)
    /// Why the header cannot be read, if another release wrote it. Then nothing is damaged.
    private(set) var otherFormat: FormatError?

    /// - Parameter step: called before each value; an error that it throws ends the survey.
    init(_ file: PageFile, _ meta: Meta, _ rules: SalvageRules, _ step: () throws -> Void) throws {
        self.meta = meta
        var options = SnapshotWalk.Options()
        options.holeLimit = .max
        // The length of a value stands in its entry, too. So a wrong header loses nothing, but the file is not sound.
        options.reportsOverflowHeaders = true
        var (damaged, facts): ([FoundValue], HeaderFacts?) = ([], nil)
        var (found, last): ([TableCode: Int], CommitStamp) = ([:], lastCommit)
        var (sum, lies): (UInt64, Set<UInt64>) = (0, [])
        var misplaced: [FoundValue] = []
        var mending = Mending(rules)
        var failure: PageFileError?
        var otherFormat: FormatError?
        walk = try SnapshotWalk(file, meta, options: options, visits: { TableCode(name: $0) != nil }) { entry in
            try step()
            let table = TableCode(name: entry.table)!
            var bytes: [UInt8] = []
            do throws(PageFileError) { bytes = try entry.value() } catch {
                if error.isOfSystem { failure = failure ?? error }
            }
            var value = FoundValue(
                table: table, key: entry.key, stamp: StoredValue.stamp(head: bytes.rawBytes), offset: entry.offset,
                count: bytes.count, origin: .tree)
            if table == .meta, entry.key == rules.headerKey { otherFormat = rules.otherFormat(bytes) }
            if !ValueCheck.isSound(bytes, table, key: entry.key, rules) {
                // Another value may own these pages.
                lies.insert(entry.offset / UInt64(meta.pageSize))
                if let own = ValueCheck.key(of: bytes, table), own != entry.key,
                    ValueCheck.isSound(bytes, table, key: own, rules)
                {
                    // The key on the page is damaged, and the value says what it was.
                    misplaced.append(
                        FoundValue(
                            table: table, key: own, stamp: value.stamp, offset: value.offset, count: value.count,
                            origin: .tree))
                }
                value.mended = rules.mends ? mending.mended(bytes, table, key: entry.key) : nil
                value.isWhole = value.mended != nil
                damaged.append(value)
                guard let whole = value.mended else { return }
                bytes = whole
            }
            if table == .meta, entry.key == rules.headerKey { facts = rules.facts(bytes) }
            found[table, default: 0] += 1
            let stamp = StoredValue.stamp(head: bytes.rawBytes)
            if stamp.commit > last.commit { last = stamp }
            sum &+= rules.term(table, entry.key, stamp.commit) ?? 0
        }
        if let failure = failure ?? walk.failure { throw failure }
        self.otherFormat = otherFormat
        (self.damaged, self.facts, self.found, lastCommit) = (damaged, facts, found, last)
        if let known = facts?.recordSum { isOfOneState = known == sum }
        for hole in walk.holes {
            suspects.insert(hole.page)
            if let table = TableCode(name: hole.table) { holes[table, default: []].append(hole) }
        }
        suspects.formUnion(lies)
        suspects.remove(meta.main.root)
        for value in damaged where !value.isWhole {
            holes[value.table, default: []].append(TreeSurvey.hole(of: value, pageSize: UInt64(meta.pageSize)))
        }
        for value in misplaced {
            holes[value.table, default: []].append(TreeSurvey.hole(of: value, pageSize: UInt64(meta.pageSize)))
        }
        let named = Set(walk.tables.map(\.name))
        for table in TableCode.allCases where !named.contains(table.name) {
            holes[table] = [SnapshotWalk.Hole(table: table.name, page: meta.main.root, lower: [], upper: nil)]
        }
    }

    /// The hole that a damaged value leaves. Other versions of a chunk have other commits in their keys.
    private static func hole(of value: FoundValue, pageSize: UInt64) -> SnapshotWalk.Hole {
        let lower = value.table == .chunks ? Array(value.key.prefix(ChunkKey.byteCount)) : value.key
        return SnapshotWalk.Hole(
            table: value.table.name, page: value.offset / pageSize, lower: lower,
            upper: lower + (value.table == .chunks ? [UInt8](repeating: .max, count: 9) : [0]))
    }

    /// Whether everything that the snapshot held is there.
    var isWhole: Bool {
        holes.isEmpty && damaged.allSatisfy(\.isWhole) && isOfOneState && facts?.transaction == meta.transaction
    }

    /// Whether all pages of the trees are sound, whatever the headers of long values say.
    var hasSoundTrees: Bool {
        walk.omitted == 0 && walk.findings.allSatisfy { $0.kind == .overflowPages && $0.table != "<free>" }
    }

    /// Whether the list of free pages can be relied on: then a page that nothing accounts for is in use.
    var knowsFreePages: Bool {
        // A wrong number in a tree may lead to a page that is free.
        !meta.free.isEmpty && walk.omitted == 0
            && !walk.findings.contains { $0.table == "<free>" && $0.kind != .freePageInUse }
    }

    /// Whether only the page of table names is damaged, and the list of free pages tells which pages are in use.
    var lacksNamesOnly: Bool {
        knowsFreePages && walk.tables.isEmpty && meta.main.depth == 1 && damaged.isEmpty
            && walk.findings.allSatisfy { $0.page == meta.main.root }
    }

    /// The number of ranges and values that are lost, to compare snapshots.
    var losses: Int { holes.values.reduce(0) { $0 + $1.count } + (isOfOneState ? 0 : 1) }
}
