#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV

/// Reads a store for a report: checks it, and then reads each sample once. What is damaged is passed over and named.
struct ReportCollector {
    /// Types with a calendar of their own, and with gaps.
    static let calendars = 100
    /// Fewer samples are not frequent.
    static let frequent = 50
    /// Findings that a report lists.
    private static let findings = 200
    private static let gaps = 5

    private let folder: String
    private let zone: Zone
    private let progress: Progress
    private var facts: StoreFacts

    /// Reads the store of a folder. The progress counts percents.
    ///
    /// - Parameter isCutShort: whether the system ended the process that read the file before. Then it is not mapped.
    static func collect(_ folder: String, _ zone: Zone, isCutShort: Bool, _ progress: Progress) throws -> StoreFacts {
        var collector = ReportCollector(folder, zone, progress)
        try collector.collect(isCutShort: isCutShort)
        return collector.facts
    }

    private init(_ folder: String, _ zone: Zone, _ progress: Progress) {
        (self.folder, self.zone, self.progress) = (folder, zone, progress)
        let path = URL(fileURLWithPath: folder).standardizedFileURL
        let seconds = Int64(Date().timeIntervalSince1970) - Int64(Instant.secondsFrom1970To2001)
        facts = StoreFacts(
            name: path.lastPathComponent, zone: zone,
            made: Instant(nanoseconds: seconds * Instant.nanosecondsPerSecond),
            fileBytes: StoreAccess.dataBytes(in: folder))
    }

    private mutating func collect(isCutShort: Bool) throws {
        if isCutShort {
            facts.health.isCutShort = true
            facts.health.unexamined = ["the rest of the file; check it again while nobody else changes it"]
            return try salvage()
        }
        try check()
        let store: SampleStore
        let types: [TypeSummary]
        do {
            store = try StoreAccess.openForReading(folder)
            types = try store.read { try $0.types { _, _ in } }
        } catch let error as StoreError where error.code == .damaged || error.code == .notAStore {
            return try salvage()
        }
        defer { try? store.close() }
        facts.info = try readable("sizes of the tables") { try store.info() }
        try read(types, of: store)
    }

    private mutating func check() throws {
        let report = try SampleStore.check(at: folder, limit: ReportCollector.findings) { share in
            (try? progress.advance(to: Int(share * 50))) != nil
        }
        try Interruption.check()
        facts.health.findings = report.findings
        facts.health.omitted = report.omitted
        facts.health.unexamined = report.unexamined
        facts.health.isOfNewerRelease = report.isOfNewerRelease
    }

    /// Reads what a repair would keep.
    private mutating func salvage() throws {
        facts.health.isSalvaged = true
        let (folder, progress) = (folder, progress)
        do {
            try SampleStore.withSalvaged(at: folder) {
                (try? progress.advance(to: progress.done)) != nil
            } _: { store, report in
                for (what, parts) in [
                    ("lost", report.lost), ("doubtful", report.doubtful), ("without ids", report.identitiesLost),
                ] {
                    facts.health.lost += parts.map {
                        HealthFacts.LostPart(
                            type: $0.type.shortName, what: what, samples: $0.samples, from: $0.from, to: $0.to)
                    }
                }
                try read(store.read { try $0.types { _, _ in } }, of: store)
            }
        } catch let error as StoreError where error.code == .damaged || error.code == .notAStore {
            facts.health.unread.append("all samples: \(error.detail)")
        }
        try Interruption.check()
    }

    // MARK: One readable store

    private mutating func read(_ types: [TypeSummary], of store: SampleStore) throws {
        let ordered = types.sorted { ($1.samples, $0.type) < ($0.samples, $1.type) }
        let total = max(1, ordered.reduce(0) { $0 + $1.samples })
        var sources: [SourceIdentity: TallySpan] = [:]
        var done = 0
        for (rank, type) in ordered.enumerated() {
            var tally = TypeTally(zone)
            let lost = try readable("samples of \(type.type.shortName)") { [progress] in
                try ReportCollector.scan(type.type, of: store, &tally, &sources) { count in
                    done += count
                    try progress.advance(to: 50 + min(50, done * 50 / total))
                }
            }
            facts.types.append(facts(of: type, tally, lost ?? [], rank))
        }
        facts.types.sort { ($1.span.samples, $0.name) < ($0.span.samples, $1.name) }
        facts.sources = sources.map { SourceFacts(source: $0.key, span: $0.value) }
            .sorted {
                ($1.span.samples, $0.source.name, $0.source.bundle) < (
                    $0.span.samples, $1.source.name, $1.source.bundle
                )
            }
        try readPeers(of: store)
    }

    private mutating func facts(
        of type: TypeSummary, _ tally: TypeTally, _ lost: [DamagedRange], _ rank: Int
    ) -> TypeFacts {
        let name = type.type.shortName
        facts.health.lost += ReportCollector.joined(lost).map { range in
            HealthFacts.LostPart(
                type: name, what: "not readable", samples: nil, from: range.from,
                to: range.to == .distantFuture ? nil : range.to + -1)
        }
        var facts = TypeFacts(
            name: name, recorded: type.samples, bytes: self.facts.health.isSalvaged ? nil : type.bytes,
            span: tally.span, hours: tally.hours)
        guard rank < ReportCollector.calendars else { return facts }
        facts.calendar = DensityCalendar(tally.days)
        if tally.span.samples >= ReportCollector.frequent {
            facts.gaps = tally.gaps.longest(ReportCollector.gaps, without: lost.map(\.starts))
        }
        return facts
    }

    /// Joins ranges, ordered by their begin, that touch.
    private static func joined(_ lost: [DamagedRange]) -> [TimeRange] {
        lost.map(\.starts).reduce(into: []) { joined, range in
            if let last = joined.last, range.from <= last.to {
                joined[joined.count - 1].to = max(last.to, range.to)
            } else {
                joined.append(range)
            }
        }
    }

    /// Counts the samples of a type. Returns what was passed over.
    private static func scan(
        _ type: SampleType, of store: SampleStore, _ tally: inout TypeTally,
        _ sources: inout [SourceIdentity: TallySpan], _ step: (Int) throws -> Void
    ) throws -> [DamagedRange] {
        var revisions: [UInt32: (source: SourceIdentity, span: TallySpan)] = [:]
        let lost = try store.read { transaction in
            try transaction.forEachStored(of: type, skippingDamage: true) { samples, whole in
                for index in samples.indices {
                    let sample = samples[index]
                    tally.add(start: sample.start, end: sample.end)
                    if revisions[sample.source]?.span.add(sample.start) == nil {
                        var span = TallySpan()
                        span.add(sample.start)
                        revisions[sample.source] = (try whole(index).source.identity, span)
                    }
                }
                try step(samples.indices.count)
                return true
            }
        }
        for revision in revisions.values { sources[revision.source, default: TallySpan()].add(revision.span) }
        return lost
    }

    private mutating func readPeers(of store: SampleStore) throws {
        let registered = try readable("peers") { try store.read { try $0.peers() } } ?? []
        let anchors = try readable("anchors") { try store.read { try $0.anchors() } } ?? []
        let places = Dictionary(grouping: anchors, by: \.peer)
        let peers = Dictionary(registered.map { ($0.id, $0) }) { first, _ in first }
        for name in Set(peers.keys).union(places.keys).sorted() {
            let queue = try readable("the queue of \(name.rawValue)") {
                try store.read { try $0.pendingCounts(for: name) }
            }
            facts.peers.append(
                PeerFacts(
                    name: name.rawValue, lastSeen: peers[name]?.lastSeen, isRetired: peers[name]?.isRetired ?? false,
                    queue: queue, anchors: places[name]?.count ?? 0, lastAnchor: places[name]?.map(\.time).max()))
        }
    }

    /// Returns what `body` reads; `nil` where that is damaged or of a newer release, which is noted.
    private mutating func readable<Result>(_ what: String, _ body: () throws -> Result) throws -> Result? {
        do {
            return try body()
        } catch let error as StoreError where error.code == .damaged || error.code == .newerFormat {
            facts.health.unread.append(what)
            return nil
        }
    }
}
