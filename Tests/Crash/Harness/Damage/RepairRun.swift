import ColumnFormat
import Foundation
import HealthKV
import HealthModel
import PageReader
import TestSupport

/// Repairs damaged files one after the other and judges the new stores: what is not on a damaged page must be there,
/// nothing may be invented or come back, and a second repair changes nothing.
struct RepairRun {
    private let share: JudgedShare
    private let content: DamagedBase.Content?
    private let kind: RepairedDamage?
    /// Plants a fault in the judge's view of the new store.
    private let lies: Bool
    private var folder: String { share.folder }

    init(_ arguments: Arguments) throws {
        share = try JudgedShare("repair", arguments)
        content = DamagedBase.Content(rawValue: arguments.text("content", default: ""))
        kind = RepairedDamage(rawValue: arguments.text("kind", default: ""))
        lies = arguments.has("lie")
    }

    func judgeAll() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var known: [DamagedBase.Content: RepairBase] = [:]
        for number in share.numbers {
            var generator = SeededGenerator(seed: share.seed, part: number)
            let content = content ?? generator.pick([.single, .mixed, .mixed, .mixed, .large])
            if known[content] == nil { known[content] = try RepairBase(content, seed: share.seed, folder: folder) }
            let base = known[content]!
            let kind = kind ?? RepairedDamage.allCases.randomElement(using: &generator)!
            let damaged = kind.done(to: base, number, &generator)
            let result = share.judge(number, "\(content.rawValue) \(kind.rawValue)") {
                try judge(damaged, base, kind)
            }
            try share.keep(number, damaged.bytes, result)
        }
    }

    private func judge(
        _ damaged: RepairedDamage.File, _ base: RepairBase, _ kind: RepairedDamage
    ) throws -> String {
        let (old, new, again) = (folder + "/old", folder + "/new", folder + "/again")
        for made in [old, new, again] { try? FileManager.default.removeItem(atPath: made) }
        try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
        try RawFile(old + "/data.mdb").replace(with: damaged.bytes)
        let report: RepairReport
        do {
            report = try SampleStore.repair(at: old, to: new, options: Vocabulary.repairOptions)
        } catch let error as StoreError where error.code == .damaged || error.code == .notAStore {
            return kind.mayBeRefused ? "refused" : "wrong_refused_\(error.detail)".replacing(" ", with: "_")
        }
        guard try RawFile.bytes(of: old + "/data.mdb") == damaged.bytes else { return "wrong_original_changed" }
        guard report.check.isClean else {
            return "wrong_check_\(report.check.findings.first.map { "\($0.kind) \($0.table) \($0.detail)" } ?? "")"
                .replacing(" ", with: "_")
        }
        var samples = try RepairBase.samples(of: new)
        if lies { samples.removeValue(forKey: samples.keys.sorted().first ?? .zero) }
        let all = samples
        if report.keepsNameless, !report.identitiesLost.isEmpty {
            let states = kind.mixesStates || report.transactionsLost > 0 ? base.plain : [base.plain[0]]
            guard try RepairBase.areOfLost(&samples, in: new, states) else { return "wrong_nameless_invented" }
        }
        let legal = kind.mixesStates || report.transactionsLost > 0 ? base.states : [base.states[0]]
        for (id, text) in samples where !legal.contains(where: { $0[id] == text }) {
            // Of deletions nothing may be left; then it is said.
            if kind == .cut || kind == .some, report.mayHoldDeleted, base.damaged.ever.contains(text) { continue }
            let kind = base.states.contains { $0[id] == text } ? "back_from_an_older_state" : "invented"
            let newest = base.states[0][id] == nil ? "deleted" : "changed"
            return
                "wrong_\(kind)_\(newest)_told_\(report.mayHoldDeleted)_\(report.findings.prefix(4))_\(report.recordsLost)"
                .replacing(" ", with: "_")
        }
        if !damaged.mayLose.isEmpty || kind.losesNothing {
            let wanted = base.states[0].filter { !damaged.mayLose.contains($0.key) }
            let missing = wanted.filter { samples[$0.key] == nil }
            // Without a list of free pages and change records, what is found may be of any state; then it is said.
            let isTold = !report.doubtful.isEmpty || !report.lost.isEmpty || report.transactionsLost > 0
            let isDoubtful = kind == .cut && isTold
            if !missing.isEmpty, !isDoubtful {
                return
                    "wrong_lost_\(missing.count)_of_\(wanted.count)_\(report.findings.prefix(3))_\(report.recordsLost)"
                    .replacing(" ", with: "_")
            }
        }
        if kind.losesNothing, report.isLossy { return "wrong_lossy_\(report.recordsLost)".replacing(" ", with: "_") }
        if samples.count < base.states[0].count, !kind.mixesStates, report.lost.isEmpty, report.doubtful.isEmpty,
            report.identitiesLost.isEmpty, report.transactionsLost == 0
        {
            return
                "wrong_untold_loss_of_\(base.states[0].count - samples.count)_\(report.findings.prefix(3))_\(report.recordsLost)"
                .replacing(" ", with: "_")
        }
        let second = try SampleStore.repair(at: new, to: again, options: Vocabulary.repairOptions)
        guard second.isSound else { return "wrong_second_\(second.findings)".replacing(" ", with: "_") }
        guard try RepairBase.samples(of: again) == all || lies else { return "wrong_second_content" }
        return samples.count == base.states[0].count ? "right" : "partly"
    }
}

/// A kind of damage whose effect on a repair is known.
enum RepairedDamage: String, CaseIterable, Sendable {
    /// Each page in turn, by the number of the file.
    case page
    case bit, metas, branches, cut, some, noise
    /// The newest meta page and the page of table names that it leads to.
    case roots

    struct File {
        var bytes: [UInt8]
        /// The samples of which a value was on a damaged page.
        var mayLose: Set<SampleID> = []
    }

    /// Whether everything must be there afterwards.
    var losesNothing: Bool { self == .bit || self == .metas || self == .branches }
    /// Whether the file may hold pages of several states.
    var mixesStates: Bool { self == .some }
    var mayBeRefused: Bool { self == .some || self == .cut || self == .noise }

    private static let pageSize = DamagedBase.pageSize

    func done(to base: RepairBase, _ number: Int, _ generator: inout SeededGenerator) -> File {
        var bytes = base.bytes
        let pages = bytes.count / RepairedDamage.pageSize
        func zero(_ page: Int) {
            for offset in 0..<RepairedDamage.pageSize { bytes[page * RepairedDamage.pageSize + offset] = 0 }
        }
        switch self {
        case .page:
            let page = number % pages
            zero(page)
            return File(bytes: bytes, mayLose: base.samples(on: page))
        case .noise:
            let page = generator.number(0..<pages)
            for offset in 0..<RepairedDamage.pageSize {
                bytes[page * RepairedDamage.pageSize + offset] = UInt8(generator.number(0..<256))
            }
            return File(bytes: bytes, mayLose: base.samples(on: page))
        case .bit:
            bytes[generator.number(0..<bytes.count)] ^= 1 << UInt8(generator.number(0..<8))
        case .metas:
            zero(0)
            zero(1)
        case .branches: for page in base.branches { zero(page) }
        case .roots:
            zero(base.newestMeta)
            zero(base.root)
        case .cut:
            let page = generator.number(2..<max(3, pages))
            bytes.removeLast(bytes.count - page * RepairedDamage.pageSize)
            return File(
                bytes: bytes,
                mayLose: (page..<pages).reduce(into: Set<SampleID>()) { $0.formUnion(base.samples(on: $1)) })
        case .some:
            bytes = Damage.allCases.randomElement(using: &generator)!.done(to: base.damaged, &generator)
        }
        return File(bytes: bytes)
    }
}

/// A sound store, what it holds now and held some commits ago, and where it holds it.
struct RepairBase {
    let damaged: DamagedBase
    var bytes: [UInt8] { damaged.states[0] }
    /// The samples of each state, newest first.
    let states: [[SampleID: [UInt8]]]
    /// The states without what details hold.
    private(set) var plain: [[SampleID: String]] = []
    /// The branch pages of all trees.
    private(set) var branches: [Int] = []
    /// The newest meta page, and the page that it leads to.
    private(set) var (newestMeta, root) = (0, 0)
    private var onPages: [Int: Set<SampleID>] = [:]

    init(_ content: DamagedBase.Content, seed: UInt64, folder: String) throws {
        damaged = try DamagedBase(content, seed: seed, folder: folder, remembersAll: true)
        let place = folder + "/state"
        var plain: [[SampleID: String]] = []
        states = try damaged.states.map { bytes in
            try? FileManager.default.removeItem(atPath: place)
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            try RawFile(place + "/data.mdb").replace(with: bytes)
            plain.append(try RepairBase.plain(of: place))
            return try RepairBase.samples(of: place)
        }
        self.plain = plain
        try locate(place)
        try? FileManager.default.removeItem(atPath: place)
    }

    func samples(on page: Int) -> Set<SampleID> { onPages[page] ?? [] }

    /// Every sample of a store, as bytes.
    static func samples(of folder: String) throws -> [SampleID: [UInt8]] {
        let store = try SampleStore.open(at: folder, options: Vocabulary.readingOptions)
        defer { try? store.close() }
        return try samples(in: store)
    }

    /// Every sample of a store, as bytes.
    static func samples(in store: SampleStore) throws -> [SampleID: [UInt8]] {
        var samples: [SampleID: [UInt8]] = [:]
        try store.read { transaction in
            for type in try transaction.types() {
                try transaction.forEachSample(SampleQuery(type.type, includeShadowed: true)) { sample in
                    var encoder = CanonicalEncoder()
                    encoder.encode(sample)
                    samples[sample.id] = encoder.bytes + Array("\(sample.modified as Any)".utf8)
                    return true
                }
            }
        }
        return samples
    }

    /// Takes the samples under new ids out of those of a repaired store. Returns `false` if one of them has not what a
    /// lost sample of one of the states had apart from its details.
    static func areOfLost(
        _ samples: inout [SampleID: [UInt8]], in folder: String, _ states: [[SampleID: String]]
    ) throws -> Bool {
        var lost: [String: Int] = [:]
        for state in states { for (id, plain) in state where samples[id] == nil { lost[plain, default: 0] += 1 } }
        for (id, plain) in try plain(of: folder) where states.allSatisfy({ $0[id] == nil }) {
            guard let count = lost[plain], count > 0 else { return false }
            lost[plain] = count - 1
            samples[id] = nil
        }
        return true
    }

    /// What the hot columns say of each sample.
    private static func plain(of folder: String) throws -> [SampleID: String] {
        let store = try SampleStore.open(at: folder, options: Vocabulary.readingOptions)
        defer { try? store.close() }
        var all: [SampleID: String] = [:]
        try store.read { transaction in
            for type in try transaction.types() {
                try transaction.forEachSample(SampleQuery(type.type, includeShadowed: true)) { sample in
                    all[sample.id] =
                        "\(sample.type) \(sample.start) \(sample.end) \(sample.quantity) \(sample.source.identity)"
                    return true
                }
            }
        }
        return all
    }

    /// Finds out on which pages the values of each sample are.
    private mutating func locate(_ place: String) throws {
        try RawFile(place + "/data.mdb").replace(with: bytes)
        let file = PageFile(bytes: bytes)
        guard let meta = MetaPages(file).newest else { throw Mismatch("metas", store: "none", model: "one") }
        (newestMeta, root) = (meta.index, Int(meta.main.root))
        var spans: [(type: UInt32, duration: DurationClass, lower: Point, upper: Point, pages: Range<Int>)] = []
        let size = DamagedBase.pageSize
        _ = try SnapshotWalk(file, meta, visits: { $0 == "chunks" || $0 == "details" }) { entry in
            let value = try entry.value()
            let key = try ChunkKey(entry.key.rawBytes)
            let upper = try Point(
                bound: StoredValue(
                    value.rawBytes, table: entry.table == "chunks" ? .chunks : .details, acceptsSealed: true
                ).upper)
            let first = Int(entry.offset)
            spans.append(
                (
                    key.lane.type, key.lane.duration, key.lower, upper,
                    first / size..<(first + value.count - 1) / size + 1
                ))
        }
        for number in 2..<bytes.count / size where DataPages.isBranch(bytes, number) { branches.append(number) }
        let store = try SampleStore.open(at: place, options: Vocabulary.readingOptions)
        defer { try? store.close() }
        var found: [Int: Set<SampleID>] = [:]
        try store.read { transaction in
            for type in try transaction.types() {
                // The store numbers other types itself.
                let number = type.type.catalogNumber
                try transaction.forEachSample(SampleQuery(type.type, includeShadowed: true)) { sample in
                    let point = Point(start: sample.start.nanoseconds, end: sample.end.nanoseconds, id: sample.id)
                    let duration = DurationClass(start: point.start, end: point.end)
                    for span in spans
                    where (number.map { $0 == span.type } ?? (span.type > 65_535)) && span.duration == duration
                        && span.lower <= point
                        && point < span.upper
                    {
                        for page in span.pages { found[page, default: []].insert(sample.id) }
                    }
                    return true
                }
            }
        }
        onPages = found
    }
}
