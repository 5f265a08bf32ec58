import Foundation
import HealthKV
import TestSupport

/// A store with a forged file, and every operation that the interface offers. Any error is acceptable; each call must
/// end soon and must not crash the process.
struct ForgedFile {
    let folder: String
    let names: ForgingBase.Names
    var generator: SeededGenerator
    let outcomes = ForgedOutcomes()
    /// Whether upkeep still claimed to have work after many calls.
    private(set) var isEndless = false

    /// The same calendar on every machine.
    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        return calendar
    }()

    /// Opens the store and performs everything, in a random order; sometimes opens it again.
    mutating func exercise() {
        guard let store = open(.opening) else {
            outcomes.finish(.opening)
            outcomes.note(outcomes.attempt(.checking) { try SampleStore.check(at: folder) })
            return outcomes.finish(.checking)
        }
        outcomes.finish(.opening)
        for step in [ForgedOutcomes.Step.reading, .writing, .upkeep, .checking].shuffled(using: &generator) {
            switch step {
            case .reading: read(store, SeededGenerator(seed: generator.next()))
            case .writing: write(store)
            case .upkeep: maintain(store)
            default: check(store)
            }
            outcomes.finish(step)
        }
        try? store.close()
        outcomes.finish(.closing)
        // Opening again reads the results of the writes.
        guard generator.chance(percent: 25) else { return }
        if let store = open(.reopening) {
            outcomes.attempt(.reopening) { _ = try store.read { try $0.types() } }
            try? store.close()
        }
        outcomes.finish(.reopening)
        guard generator.chance(percent: 20) else { return }
        outcomes.attempt(.salvaging) { try SampleStore.withSalvaged(at: folder) { _, _ in } }
        outcomes.finish(.salvaging)
    }

    private mutating func open(_ step: ForgedOutcomes.Step) -> SampleStore? {
        let options = ForgingBase.options(generator.next())
        return outcomes.attempt(step) { try SampleStore.open(at: folder, options: options) }
    }

    private mutating func check(_ store: SampleStore) {
        let limit = generator.pick([1, 5, 1_000])
        outcomes.note(outcomes.attempt(.checking) { try store.check(limit: limit) })
        if generator.chance(percent: 10) { _ = try? SampleStore.check(at: folder) }
    }

    /// Performs pending maintenance in small steps, and occasionally rewrites much of the file.
    private mutating func maintain(_ store: SampleStore) {
        func hasMore() -> Bool { outcomes.attempt(.upkeep) { try store.maintain(budget: .milliseconds(10)) } ?? false }
        var left = 100
        while left > 0, hasMore() { left -= 1 }
        if left == 0 { isEndless = true }
        let isShadowing = generator.chance(percent: 50)
        switch generator.number(0..<20) {
        case 0..<3: outcomes.attempt(.upkeep) { try store.rebuild() }
        case 3: outcomes.attempt(.upkeep) { try store.compactInPlace() }
        case 4, 6: outcomes.attempt(.upkeep) { try store.setShadowing(of: .stepCount, isShadowing) }
        case 5:
            outcomes.attempt(.upkeep) { try store.suspend() }
            outcomes.attempt(.upkeep) { try store.resume() }
        default: break
        }
    }

    // MARK: - Reading

    /// Asks every kind of question. Those about one type are asked about one or two, drawn for each question.
    private func read(_ store: SampleStore, _ generator: SeededGenerator) {
        var generator = generator
        func ask(_ body: (borrowing ReadTransaction) throws -> Void) {
            outcomes.attempt(.reading) { _ = try store.read { try body($0) } }
        }
        func each(_ body: (borrowing ReadTransaction, SampleType) throws -> Void) {
            let types = names.types.shuffled(using: &generator).prefix(generator.pick([1, 2]))
            ask { txn in
                for type in types { outcomes.attempt(.reading) { try body(txn, type) } }
            }
        }
        each { _ = try $0.samples(SampleQuery($1, includeShadowed: true)) }
        each { _ = try $0.forEachReadableSample(SampleQuery($1)) { _ in true } }
        each { _ = try $0.series($1) }
        each {
            _ = try $0.fold($1, into: 0.0) { sum, _, values in for index in values.indices { sum += values[index] } }
        }
        each { _ = try $0.count(of: $1) }
        each { _ = try $0.latest(of: $1) }
        each { _ = try $0.first(of: $1) }
        readStatistics(each)
        readInsights(each)
        readViews(each, ask)
        ask { _ = try $0.types() }
        ask { _ = try $0.sources() }
        ask { _ = try $0.sourceCounts() }
        ask { _ = try $0.count() }
        ask { txn in
            var page = try txn.changes(since: nil, limit: 50)
            while page.hasMore { page = try txn.changes(since: page.next, limit: 50) }
        }
        ask { txn in
            var page = try txn.deletions(limit: 20)
            while let next = page.next { page = try txn.deletions(after: next, limit: 20) }
        }
        ask { _ = try $0.typesWithSamples() }
        ask { _ = try $0.audit() }
        ask { _ = try $0.shadowing() }
        ask { _ = try $0.priorities() }
        ask { try $0.forEachPurged { _, _, _ in } }
        ask { try $0.forEachTotal { _ in } }
        ask { _ = try $0.samples(syncIdentifier: "app.log.1") }
        ask { _ = try $0.samples(metadataKey: "note", values: [.string("a"), .number(.pi)]) }
        for number in 0..<3 { ask { _ = try $0.samples(group: "meal.\(number)") } }
        for id in names.ids.prefix(4) + names.deleted {
            ask { _ = try $0.sample(id: id) }
            ask { _ = try $0.deletedSample(id: id) }
        }
        readSync(ask)
        for job in ["history 1", "history 4"] { _ = try? store.importPosition(of: job) }
        _ = try? store.info()
        ask { txn in for table in txn.tableNames { try txn.forEachRecord(ofTable: table) { _, _ in } } }
    }

    private func readStatistics(_ each: ((borrowing ReadTransaction, SampleType) throws -> Void) -> Void) {
        let (from, to) = (Vocabulary.middle - 86_400_000_000_000, Vocabulary.middle + 86_400_000_000_000 * 3)
        each { _ = try $0.statistics(of: $1) }
        each { _ = try $0.statistics($1, by: .month, calendar: ForgedFile.calendar) }
        each { _ = try $0.statistics($1, by: .hour, from: from, to: to, calendar: ForgedFile.calendar) }
        each { _ = try $0.statisticsBySource(StatisticsQuery($1, by: .year, calendar: ForgedFile.calendar)) }
        each { _ = try $0.series($1, points: 50) }
        each { _ = try $0.rankedSources(of: $1) }
        each { txn, type in
            for peer in ForgingBase.peers {
                _ = try txn.totals(of: type, peer: peer)
                _ = try txn.compareTotals(of: type, peer: peer)
            }
        }
    }

    /// What is computed from the samples of a type.
    private func readInsights(_ each: ((borrowing ReadTransaction, SampleType) throws -> Void) -> Void) {
        let (from, middle) = (Vocabulary.middle - 86_400_000_000_000, Vocabulary.middle)
        let ended = TimeRange(from: from, to: middle)
        let begun = TimeRange(from: middle, to: middle + 86_400_000_000_000)
        each { _ = try $0.distribution(SampleQuery($1)).percentile(50) }
        each { _ = try $0.trend(SampleQuery($1)) }
        each { _ = try $0.timeInBands(SampleQuery($1), borders: [1, 50]) }
        each {
            _ = try $0.rhythm(StatisticsQuery($1, by: .hour, calendar: ForgedFile.calendar), of: .hourOfDay)
        }
        each { _ = try $0.comparison(of: $1, ended, with: begun) }
        each { _ = try $0.travelDays(of: $1, fallback: ForgedFile.calendar.timeZone) }
        each { txn, type in
            try txn.forEachStatistics(StatisticsQuery(type, by: .week, calendar: ForgedFile.calendar)) { _ in }
        }
        each { _ = try $0.series($1).largestTriangles(20) }
    }

    /// Pages, filters and what apps show.
    private func readViews(
        _ each: ((borrowing ReadTransaction, SampleType) throws -> Void) -> Void,
        _ ask: ((borrowing ReadTransaction) throws -> Void) -> Void
    ) {
        each { txn, type in
            for sort in [SampleSort.time, .value] {
                let query = SampleQuery(type, order: .descending, by: sort)
                var (page, left) = (try txn.page(query, size: 20), 100)
                while left > 0, let place = page.next {
                    page = try txn.page(query, size: 20, after: place)
                    left -= 1
                }
            }
        }
        each { _ = try $0.count(SampleQuery($1, where: .value(in: 1...50, $1.canonicalUnit ?? .count))) }
        each { _ = try $0.samples(SampleQuery($1, source: Vocabulary.ownSource.identity)) }
        ask { _ = try $0.meals(from: .distantPast, to: .distantFuture) }
        ask { _ = try $0.nutrition(from: .distantPast, to: .distantFuture, calendar: ForgedFile.calendar) }
        ask { _ = try $0.today(at: Vocabulary.middle, calendar: ForgedFile.calendar) }
        ask { _ = try $0.weightTrend(calendar: ForgedFile.calendar) }
        ask {
            _ = try $0.dailySteps(from: "2023-04-01", to: "2023-04-30", calendar: ForgedFile.calendar, source: "all")
        }
        for id in names.ids.prefix(3) {
            ask { txn in
                if let sample = try txn.sample(id: id) { _ = try txn.routes(of: sample) }
                _ = try txn.isChanged(id: id, since: txn.currentToken)
            }
        }
    }

    private func readSync(_ ask: ((borrowing ReadTransaction) throws -> Void) -> Void) {
        ask { _ = try $0.peers() }
        ask { _ = try $0.anchors() }
        ask { _ = try $0.pending() }
        ask { try $0.forEachLink { _ in } }
        ask { try $0.forEachLink(skippingDamage: true) { _ in } }
        ask { _ = try $0.syncNote("peer:watch") }
        for peer in ForgingBase.peers {
            ask { _ = try $0.peer(peer) }
            ask { _ = try $0.anchor(peer: peer, type: .stepCount) }
            ask { _ = try $0.pendingGroups(for: peer) }
            ask { _ = try $0.pendingCounts(for: peer) }
            ask { _ = try $0.pending(for: peer, after: 0, limit: 3) }
            ask { _ = try $0.seenThroughQueue(of: peer) }
            ask { _ = try $0.links(of: peer) }
            for id in names.ids.prefix(3) {
                ask { _ = try $0.link(peer: peer, sample: id) }
                ask { _ = try $0.link(peer: peer, idAtPeer: id) }
                ask { _ = try $0.pending(peer: peer, sample: id) }
            }
        }
    }

    // MARK: - Writing

    private typealias Write = @Sendable (inout WriteTransaction) throws -> Void

    /// Performs some of all kinds of writes, several in a transaction. If one of them fails, each is repeated in its
    /// own transaction, so that none hides another.
    private mutating func write(_ store: SampleStore) {
        let writes = (0..<2).flatMap { _ in sampleWrites() } + syncWrites()
        var rest = writes.shuffled(using: &generator).prefix(6)
        while !rest.isEmpty {
            let group = Array(rest.prefix(generator.pick([1, 3, 5])))
            rest = rest.dropFirst(group.count)
            if commit(group, to: store) || group.count == 1 { continue }
            for body in group { _ = commit([body], to: store) }
        }
        let batch = Vocabulary.derivedBatch(&generator, rows: 5, source: Vocabulary.bulkSource)
        if generator.chance(percent: 60) {
            outcomes.attempt(.writing) { _ = try store.importBatch(batch, job: "history 1") }
        }
        if generator.chance(percent: 10) { outcomes.attempt(.writing) { try store.finishImport(of: "history 1") } }
    }

    private func commit(_ writes: [Write], to store: SampleStore) -> Bool {
        outcomes.attempt(.writing) { _ = try store.write { txn in for body in writes { try body(&txn) } } } != nil
    }

    private mutating func sampleWrites() -> [Write] {
        let ids = (0..<4).map { _ in names.ids.randomElement(using: &generator) ?? .zero }
        let deleted = names.deleted.randomElement(using: &generator) ?? .zero
        let sample = names.sample(&generator)
        let type = names.types.randomElement(using: &generator)!
        var merged = names.sample(&generator)
        merged.id = ids[0]
        merged.version = 5
        merged.modified = ChangeClock(time: ForgingBase.now, replica: 7)
        let peerSample = merged
        let commit = UInt64(generator.number(1..<40))
        let deletion = DeletedSample(
            id: ids[1], type: sample.type, source: sample.source.identity, syncIdentifier: nil, version: 9,
            modified: ChangeClock(time: ForgingBase.now, replica: 9))
        return [
            { _ = try $0.save(sample) },
            { txn in
                guard var stored = try txn.sample(id: ids[2]) else { return }
                stored.quantity.value += 1
                _ = try txn.save(stored)
            },
            { _ = try $0.delete(id: ids[3]) },
            { _ = try $0.merge(peerSample) },
            { _ = try $0.merge(deletion) },
            { _ = try $0.overlay(id: ids[0]) { $0.quantity.value = 3 } },
            { _ = try $0.removeOverlay(id: ids[1]) },
            { _ = try $0.hide(id: ids[2]) },
            { _ = try $0.unhide(id: ids[2]) },
            { _ = try $0.undelete(id: deleted) },
            { _ = try $0.undo(commit: commit) },
            { txn in
                let token = try txn.recordingUndo { _ = try $0.save(sample) }
                _ = try txn.undo(token)
            },
            { _ = try $0.purge(id: ids[1]) },
            { _ = try $0.delete(.group("meal.1")) },
            { _ = try $0.delete(.range(of: type, to: Vocabulary.middle)) },
            { _ = try $0.delete(.source(SourceIdentity(name: "Scale"))) },
            { _ = try $0.purge(.source(Vocabulary.bulkSource.identity)) },
            { _ = try $0.delete(.metadata("flag", values: [.bool(true)])) },
        ]
    }

    private mutating func syncWrites() -> [Write] {
        let (id, idAtPeer) = (names.ids.randomElement(using: &generator) ?? .zero, SampleID(using: &generator))
        let peer = ForgingBase.peers.randomElement(using: &generator)!
        let sample = names.sample(&generator)
        return [
            { try $0.setLink(PeerLink(peer: peer, sample: id, idAtPeer: idAtPeer, version: 3)) },
            { txn in if let link = try txn.link(peer: peer, sample: id) { try txn.removeLink(link) } },
            { _ = try $0.enqueue(PendingOperation(peer: peer, kind: .save, sample: id, version: 3)) },
            { txn in
                guard var operation = try txn.pending(peer: peer, sample: id) else { return }
                operation.attempts = min(operation.attempts, 1_000) + 1
                try txn.updatePending(operation)
            },
            { txn in for operation in try txn.pending(for: peer) { try txn.removePending(operation) } },
            { try $0.settleNextTries(of: peer, at: ForgingBase.now) },
            { try $0.setAnchor(Anchor(peer: peer, type: .bodyMass, token: [1], time: ForgingBase.now)) },
            { try $0.acknowledge(peer: peer, $0.currentToken) },
            { _ = try $0.endRetirement(of: peer) },
            { try $0.removePeer(peer) },
            { txn in _ = try txn.receiving(from: peer) { try $0.save(sample) } },
            { try $0.removeTotals(of: .stepCount, peer: peer) },
            { try $0.setPriority(nil, of: .stepCount) },
            { try $0.setSyncNote("peer:watch", nil) },
            { try $0.appendAudit(event: "lost", sample: id, displaced: [1]) },
            { txn in for entry in try txn.audit() { try txn.removeAudit(entry) } },
            { try $0.beginEpoch() },
        ]
    }
}
