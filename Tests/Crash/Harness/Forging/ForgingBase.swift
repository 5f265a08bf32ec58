import Foundation
import HealthKV
import Synchronization
import TestSupport

/// A small sound store in which every table has rows of every kind, from which forged files are made.
struct ForgingBase {
    let bytes: [UInt8]
    let rows: StoredRows
    let names: Names

    /// The types and ids that reads and writes of the forged file use.
    struct Names {
        var types: [SampleType]
        var ids: [SampleID] = []
        var deleted: [SampleID] = []

        /// Returns a random sample of one of the types.
        func sample(_ generator: inout SeededGenerator) -> Sample {
            while true {
                let sample = Vocabulary.sample(&generator, model: Model())
                if types.contains(sample.type) { return sample }
            }
        }
    }

    /// The number of bases with different content.
    static let count = 8
    /// The type that a base has beside the two that all bases have.
    private static let otherTypes: [SampleType] = [.activeEnergyBurned, .workout, .dietaryProtein, Vocabulary.mood]
    static let peers: [PeerID] = ["watch", "tablet"]
    static let now = Instant(nanoseconds: (Vocabulary.epoch + Int64(Vocabulary.days) * 86_400) * 1_000_000_000)

    static func options(_ seed: UInt64 = 0) -> SampleStore.Options {
        var options = Vocabulary.options(maintains: false)
        let draws = Draws(seed: seed)
        options.limits.draw = { draws.next() }
        options.limits.skipsSync = true
        // The base is as small as it can be with these limits: every part of a file costs time in each step.
        options.limits.diskReserve = 1 << 14
        options.limits.chunkBytes = 350
        options.limits.identityBlockBytes = 300
        options.limits.partitionEntries = 100
        options.limits.recentEntries = 16
        options.limits.removedAtOnce = 6
        options.limits.thinSamples = 2
        options.limits.coarseSamples = 5
        options.limits.recentLinks = 5
        options.limits.changeRecords = 5
        options.limits.changeRecordsPerStep = 8
        options.limits.chunksPerStep = 8
        // One writing thread for an open store; closing ends it.
        options.idlePeriod = .seconds(2)
        options.clock = { ForgingBase.now }
        return options
    }

    /// Creates the base of a number in a folder. A store in which too few rows came about is drawn again.
    static func drawn(_ number: Int, seed: UInt64, folder: String) throws -> ForgingBase {
        for attempt in 0..<ForgingBase.attempts {
            let base = try ForgingBase(
                number, generator: SeededGenerator(seed: seed, part: number + attempt * ForgingBase.count),
                folder: folder)
            let isUsable = number % 2 == 0 ? base.emptyTables == ["upkeep 1"] : base.emptyTables.isEmpty
            if isUsable { return base }
            if attempt == ForgingBase.attempts - 1 {
                throw Mismatch("rows of every kind", store: "\(base.emptyTables)", model: "none")
            }
        }
        fatalError("the loop ends by returning or throwing")
    }

    private static let attempts = 50

    /// Creates the store in a folder and reads it.
    private init(_ number: Int, generator: SeededGenerator, folder: String) throws {
        try? FileManager.default.removeItem(atPath: folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var generator = generator
        let store = try SampleStore.open(at: folder, options: ForgingBase.options(generator.next()))
        let other = ForgingBase.otherTypes[number / 2 % ForgingBase.otherTypes.count]
        var filling = Filling(generator: generator, types: [.bodyMass, .stepCount, other])
        try filling.fill(store, isRested: number % 2 == 0)
        let report = try store.check()
        guard report.isClean else { throw Mismatch("check", store: "\(report.findings)", model: "none") }
        // A compacted file has no free pages, so it is fast to copy.
        try? FileManager.default.removeItem(atPath: folder + "-compact")
        defer { try? FileManager.default.removeItem(atPath: folder + "-compact") }
        try store.compact(to: folder + "-compact")
        try store.close()
        names = filling.names
        rows = try StoredRows(folder: folder + "-compact")
        bytes = try RawFile.bytes(of: folder + "-compact/data.mdb")
    }

    /// The tables that have too few rows to forge; empty for a usable base.
    var emptyTables: [String] {
        let kinds: [UInt8: Int] = Dictionary(grouping: rows[.upkeep], by: { $0.key[0] }).mapValues(\.count)
        let links = Set(rows[.links].map { $0.key[16] })
        let identity = Set(rows[.identity].map { $0.key[0] })
        return rows.tables.filter { rows[$0].isEmpty }.map(\.name)
            + (1...5).filter { kinds[$0] == nil }.map { "upkeep \($0)" }
            + (0...4).filter { !links.contains($0) }.map { "links \($0)" }
            + (1...3).filter { !identity.contains($0) }.map { "identity \($0)" }
    }
}

/// Fills a store as apps and peers do.
private struct Filling {
    var generator: SeededGenerator
    var names: ForgingBase.Names
    private var saved: [Sample] = []

    init(generator: SeededGenerator, types: [SampleType]) {
        self.generator = generator
        names = ForgingBase.Names(types: types)
    }

    mutating func fill(_ store: SampleStore, isRested: Bool) throws {
        try addPeers(store)
        for part in 0..<2 {
            try addSamples(store, part)
            try addSyncState(store)
            try edit(store)
            while try store.maintain(budget: .milliseconds(5)) {}
        }
        try store.write { txn in _ = try txn.purge(.source(Vocabulary.bulkSource.identity)) }
        while try store.maintain(budget: .milliseconds(5)) {}
        try addSamples(store, 2)
        try addSyncState(store)
        try edit(store)
        if isRested { return }
        // Leave a mass operation unfinished.
        try store.write { txn in _ = try txn.delete(.range(of: .stepCount)) }
    }

    private func addPeers(_ store: SampleStore) throws {
        try store.write { txn in
            var watch = RegisteredPeer(id: "watch", registered: ForgingBase.now, lastSeen: ForgingBase.now)
            watch.queue = QueueRule(types: Set(names.types[1..<3]), takesImports: true)
            try txn.setPeer(watch)
            var tablet = RegisteredPeer(id: "tablet", registered: ForgingBase.now, lastSeen: ForgingBase.now)
            tablet.acknowledged = txn.currentToken
            try txn.setPeer(tablet)
            try txn.setSyncNote("peer:watch", Array("{\"turn\": 1}".utf8))
            try txn.setPriority(
                [RankedSource(Vocabulary.ownSource.identity), RankedSource(SourceIdentity(name: "Scale"))],
                of: .stepCount)
        }
    }

    private mutating func addSamples(_ store: SampleStore, _ part: Int) throws {
        var samples = (0..<4).map { _ in names.sample(&generator) }
        for index in samples.indices { decorate(&samples[index]) }
        let new = names.types.contains(.workout) ? samples + [workout()] : samples
        try store.write { txn in _ = try txn.save(new) }
        saved += new
        names.ids = saved.map(\.id)
        let derived = Vocabulary.derivedBatch(&generator, rows: 5, source: Vocabulary.bulkSource)
        try store.importBatch(derived, job: "history \(part)")
        var dense = SampleBatch()
        let kind = dense.kind(.bodyMass, .kilogram, source: Vocabulary.sources[3])
        for row in 0..<7 {
            let time = Instant(
                nanoseconds: Vocabulary.middle.nanoseconds + Int64(part * 7_200 + row * 97) * 1_000_000_000)
            dense.append(
                kind: kind, start: time, end: time, value: Double(generator.number(1..<1 << 40)) / 7,
                id: SampleID(using: &generator))
        }
        try store.importBatch(dense)
    }

    private mutating func decorate(_ sample: inout Sample) {
        if generator.chance(percent: 16) { sample.timeZone = generator.pick(["Europe/Berlin", "UTC"]) }
        if generator.chance(percent: 16) { sample.local = ["note": .string("after lunch")] }
        if generator.chance(percent: 16) {
            sample.metadata["quantity"] = .quantity(Quantity(1.5, .liter))
            sample.metadata["time"] = .date(sample.start)
            sample.metadata["number"] = .number(.pi)
        }
    }

    private mutating func workout() -> Sample {
        let start = Vocabulary.instant(&generator)
        let end = start + 1_800_000_000_000
        var sample = Sample.workout(Workout(.running), from: start, to: end, id: SampleID(using: &generator))
        sample.workout?.energy = Quantity(120, .kilocalorie)
        sample.workout?.statistics = [
            WorkoutStatistics(.heartRate, from: start, to: end, average: Quantity(120, .countPerMinute))
        ]
        sample.workout?.events = [WorkoutEvent(.init(rawValue: 1), from: start, to: start)]
        sample.workout?.activities = [WorkoutActivity(.running, from: start, to: end, id: SampleID(using: &generator))]
        return sample
    }

    private mutating func addSyncState(_ store: SampleStore) throws {
        let ids = (0..<7).map { _ in saved.randomElement(using: &generator)!.id }
        let peerIDs = ids.map { generator.chance(percent: 30) ? $0 : SampleID(using: &generator) }
        let time = ForgingBase.now
        try store.write { txn in
            for (index, id) in ids.enumerated() {
                try txn.setLink(
                    PeerLink(
                        peer: ForgingBase.peers[index % 2], sample: id, idAtPeer: peerIDs[index],
                        version: index % 5 == 0 ? -1 : Int64(index), isProvisional: index % 3 == 0))
            }
            for (index, id) in ids.prefix(6).enumerated() {
                var operation = PendingOperation(
                    peer: "watch", kind: index % 3 == 0 ? .delete : .save, sample: id, version: Int64(index),
                    attempts: index, nextTry: time, state: [.waiting, .parked, .quarantined][index % 3],
                    reason: index % 3 == 0 ? "" : "no access")
                if index % 3 == 1 { operation.accessType = .bodyMass }
                _ = try txn.enqueue(operation)
            }
            for peer in ForgingBase.peers {
                try txn.setAnchor(
                    Anchor(peer: peer, type: .stepCount, token: Array(repeating: 7, count: 40), time: time))
                _ = try txn.setTotal(
                    DailyTotal(
                        peer: peer, type: .stepCount, day: "2023-04-05", zone: "UTC", value: 1_200, unit: .count,
                        isComplete: true, time: time))
                _ = try txn.setTotal(
                    DailyTotal(
                        peer: peer, type: .stepCount, day: "2023-04-06", zone: DailyTotal.floatingZone, value: nil,
                        goal: 10_000, unit: .count, isComplete: false, time: time))
            }
            try txn.appendAudit(event: "lost", sample: ids[0], displaced: [1, 2, 3])
        }
    }

    private mutating func edit(_ store: SampleStore) throws {
        let some = (0..<7).map { _ in saved.randomElement(using: &generator)! }
        let value = Double(generator.number(1..<100))
        let gone = Set(some.suffix(2).map(\.id))
        try store.write { txn in
            for sample in some.prefix(2) {
                guard var stored = try txn.sample(id: sample.id) else { continue }
                stored.quantity.value = value
                _ = try txn.save(stored)
            }
            for sample in some[2..<4] { _ = try txn.overlay(id: sample.id) { $0.quantity.value = value } }
            _ = try txn.hide(id: some[4].id)
            for id in gone { _ = try txn.delete(id: id) }
        }
        names.deleted = Array(gone)
        saved.removeAll { gone.contains($0.id) }
    }
}
