import Foundation
import HealthKVSync
import HealthKitSimulator
import TestSupport

/// Up to five stores, up to two HealthKits under one cloud, and who syncs with whom; all of it follows from a seed.
final class World {
    let seed: UInt64
    let clock = SimulatedClock()
    let scratch: String
    let plant: Plant?
    var random: SeededGenerator
    /// Draws all that came later, beside the course of a seed.
    var later: SeededGenerator
    /// Whether this seed meets what came later. Seeds below a million do not: they keep the course in which some of
    /// them failed.
    let meetsMore: Bool
    /// How many of a hundred steps are followed by an event of those that came later.
    let laterPercent: Int
    /// Draws what came last, beside both other courses.
    var last: SeededGenerator
    /// How many of a hundred steps are followed by an event of those that came last.
    let lastPercent: Int
    /// Draws what was added behind all of these, beside their courses.
    var fourth: SeededGenerator
    /// How many of a hundred steps are followed by an event that was added then.
    let fourthPercent: Int
    /// Whether two people edit one sample at once where the cloud alone links their devices.
    let editsApart: Bool
    /// Whether nobody asks for comparisons in the end: months pass, and engines compare in their own time.
    let comparesByItself: Bool
    /// Whether engines run by themselves, and nobody tells them to sync.
    let isLive: Bool
    private(set) var sites: [Site] = []
    let cloud: SimulatedCloud?
    var ledger = Ledger()
    /// Backups of stores, with what they hold.
    var backups: [(site: Int, folder: String, values: [SampleID: Int])] = []
    /// Copies of the file of a store as it lay there, which fit it when they are written over it.
    var fileCopies: [(site: Int, file: String, values: [SampleID: Int])] = []
    /// Which part of the world each store belongs to: what is not linked by stores hears of the other by the cloud
    /// alone.
    private(set) var parts: [Int] = []
    /// Whether HealthKit lets an equal version replace what it holds (SEMANTICS A7); otherwise nobody learns of it.
    let equalVersionReplaces: Bool
    /// Whether the cloud tells of deletions of what it never brought.
    let tellsUnseenDeletions: Bool
    /// Whether a deletion may have gone unheard, because it was purged or nobody was there: then it takes comparing to
    /// find what is gone.
    var needsComparing = false
    /// What a store has from a copy, with the name that the other one's HealthKit gave it, and what its own HealthKit
    /// had not seen by then.
    var unseen: [Int: Set<SampleID>] = [:]
    /// Deletions in the Health app, each with the number of what was deleted, that another HealthKit was not told of,
    /// which holds nothing under that name either.
    var untold: [(id: SampleID, number: Double?, site: Int)] = []
    var trace: [String] = []
    /// The sample whose state is noted with everything that happens.
    var watched: SampleID?
    var counts: [String: Int] = [:]

    /// What the app writes, and syncs in both directions.
    let types: [SampleType]
    /// What was laid over samples of others.
    var overlays = Ledger()
    /// Whether a database of HealthKit was rebuilt.
    var isRebuilt = false
    /// Meals by their groups, with the samples that they were written as.
    var meals: [(group: String, ids: [SampleID])] = []

    static let firstOfMore: UInt64 = 1_000_000
    /// Seeds from here on meet what came last, too.
    static let firstOfLast: UInt64 = 1 << 32
    /// Seeds from here on meet what was added behind that, too.
    static let firstOfFourth: UInt64 = 1 << 40

    init(seed: UInt64, scratch: String, plant: Plant?, isLive: Bool = false) async throws {
        (self.seed, self.scratch, self.plant, self.isLive) = (seed, scratch, plant, isLive)
        random = SeededGenerator(seed: seed)
        later = SeededGenerator(seed: seed ^ 0x1A7E_57EB_BE51_DE00)
        meetsMore = isLive || seed >= World.firstOfMore
        laterPercent = meetsMore ? later.pick([0, 15, 40, 70]) : 0
        let meetsLast = !isLive && seed >= World.firstOfLast
        var last = SeededGenerator(seed: seed ^ 0x5EED_0F_1A57_C0DE)
        lastPercent = meetsLast ? last.pick([0, 10, 30]) : 0
        let (isApart, comparesByItself) = (last.chance(percent: 50), last.chance(percent: 40))
        editsApart = meetsLast && isApart
        self.comparesByItself = meetsLast && comparesByItself
        self.last = last
        fourth = SeededGenerator(seed: seed ^ 0xF0_47B5_0F5E_ED5)
        fourthPercent = !isLive && seed >= World.firstOfFourth ? fourth.pick([0, 5, 15]) : 0
        types = Site.weights + (meetsMore ? [.workout] + Site.nutrients : [])
        SimulatedIdentifiers.seed(seed)
        var options = SimulationOptions()
        options.equalVersionReplaces = random.chance(percent: 40)
        options.limitCountsDeletions = random.chance(percent: 50)
        options.anchorsPassInvisible = random.chance(percent: 70)
        // Drawn beside the seed's course, so that a seed from before there was a choice lives through what it did.
        options.cloudTellsUnseenDeletions = seed % 4 != 0
        tellsUnseenDeletions = options.cloudTellsUnseenDeletions
        equalVersionReplaces = options.equalVersionReplaces
        if meetsMore { World.drawMore(&options, &later) }
        let count = random.number(2..<6)
        let healths = random.pick([0, 1, 1, 2, 2, 2, 2])
        // What a replaced correlation took along is saved again, and a cloud may bring only that it went.
        if healths == 2, meetsMore { options.deletingCorrelationDeletesMembers = false }
        let (clock, open) = (clock, options)
        let devices = (0..<healths).map { _ in SimulatedDevice(clock: clock, options: open) }
        cloud = devices.count == 2 ? SimulatedCloud(devices) : nil
        for number in 0..<count {
            sites.append(
                try Site(
                    number, folder: "\(scratch)/store\(number)", health: number < healths ? devices[number] : nil,
                    clock: clock, seed: seed, types: types, runs: isLive, isSmall: meetsLast))
        }
        drawLinks(healths)
        note("\(count) stores, \(healths) HealthKits, links \(sites.map(\.links)), parts \(parts), \(options)")
        // What everybody can see, at the beginning of time, so that a comparison can tell what is gone.
        for type in Site.weights + [.stepCount] {
            if let device = devices.first {
                try record(device, type, at: Date(timeIntervalSinceReferenceDate: 700_000_000), on: 0)
            }
        }
        syncCloud()
        for site in sites { try await begin(site) }
    }

    /// What came later of what Apple leaves open.
    private static func drawMore(_ options: inout SimulationOptions, _ later: inout SeededGenerator) {
        options.observerFiresAtStart = later.chance(percent: 70)
        options.deletingCorrelationDeletesMembers = later.chance(percent: 30)
        options.deletionsIgnorePredicates = later.chance(percent: 60)
        options.journalsWhileLocked = later.chance(percent: 60)
        options.largestSave = later.pick([nil, nil, 4, 5])
        options.oversizeInterrupts = later.chance(percent: 50)
        // A connection takes at least so many objects.
        if options.oversizeInterrupts, options.largestSave != nil { options.largestSave = 25 }
        options.deletingNeedsSharing = later.chance(percent: 60)
        options.samplesFollowSourceName = later.chance(percent: 60)
    }

    /// A tree over all stores, or one over each half where two HealthKits link the halves, and some more links.
    private func drawLinks(_ healths: Int) {
        let isSplit = healths == 2 && random.chance(percent: 40)
        parts = sites.indices.map { isSplit && $0 < 2 ? $0 : 0 }
        if isSplit { for number in sites.indices.dropFirst(2) { parts[number] = random.number(0..<2) } }
        for number in sites.indices.dropFirst() {
            let near = sites.indices.prefix(number).filter { parts[$0] == parts[number] }
            guard !near.isEmpty else { continue }
            link(number, random.pick(near))
            if near.count > 1, random.chance(percent: 40) { link(number, random.pick(near)) }
        }
    }

    private func link(_ one: Int, _ other: Int) {
        let kind = random.number(0..<3)
        if kind != 1, !sites[one].links.contains(other) { sites[one].links.append(other) }
        if kind != 0, !sites[other].links.contains(one) { sites[other].links.append(one) }
    }

    /// The app of a device starts for the first time: it asks, and switches all syncs on.
    func begin(_ site: Site) async throws {
        let engine = engine(site)
        for peer in engine.peers {
            if peer == Site.healthName { try await engine.authorize(peer) }
            try await engine.enable(peer)
        }
        if isLive { engine.start() }
    }

    func engine(_ site: Site) -> SyncEngine { site.engine ?? site.start(sites, plant) }

    /// Nobody goes on with a handle of a store that was closed.
    func forgetEngines() { for site in sites { site.engine = nil } }

    func note(_ text: @autoclosure () -> String) {
        trace.append(isLive ? "\(Int(clock.now.timeIntervalSinceReferenceDate)) \(text())" : text())
        guard let id = watched else { return }
        watched = nil
        watch(id)
        watched = id
    }

    /// The cloud brings all that it has, or a part.
    func syncCloud(percent: Int? = nil) {
        guard let cloud else { return }
        forgetSavedUntold()
        if let percent {
            cloud.sync(percent: percent, using: &later)
        } else {
            cloud.sync()
            // Otherwise it tells nobody of deletions of what it had not brought. Where it does, the store beside the
            // HealthKit that was told has yet to read of it.
            if tellsUnseenDeletions {
                let held = sites.map { (try? $0.values()) ?? [:] }
                untold.removeAll { held[$0.site][$0.id] == nil }
            }
        }
    }

    func count(_ event: String) { counts[event, default: 0] += 1 }

    /// Syncs a store with one peer or all, and starts its process again where that ended in between.
    func sync(_ site: Site, with peer: String? = nil) async throws {
        do {
            let reports = try await engine(site).sync(peer)
            note("  store\(site.number) syncs \(peer ?? "all"): \(summary(reports))")
        } catch is CancellationError {
            note("  store\(site.number) syncs \(peer ?? "all"): ended")
        }
        if site.wire.hasCrashed {
            count("crash")
            try site.reopen()
            forgetEngines()
        } else {
            site.calls.answer()
        }
    }

    /// Where one sample stands everywhere, to look into a finding.
    func watch(_ id: SampleID) {
        let now = sites.map { site in
            let text = try? site.store.read { txn -> String in
                let held = try txn.sample(id: id).map { "\($0.ledgerValue) v\($0.version)" }
                let gone = try txn.deletedSample(id: id).map { "gone v\($0.version)" }
                let link = try txn.link(peer: Site.healthName, sample: id)
                let known = link.map { " link v\($0.version) \($0.peerID.description.prefix(4))" } ?? ""
                let waiting = try txn.pending(peer: Site.healthName, sample: id)
                let queued = waiting.map { " \($0.kind) v\($0.version)\($0.isSent ? " sent" : "")" } ?? ""
                return (held ?? gone ?? "-") + known + queued
            }
            let there = site.healthValues().map(\.sample).filter { $0.syncIdentifier == id.description }
            let health = there.map { " {\(Int($0.value)) v\(Int($0.version ?? 0)) \($0.uuid.uuidString.prefix(4))}" }
            return "\(site.number): \(text ?? "?")\(health.joined())"
        }
        note("    \(now.joined(separator: " | "))")
    }

    private func summary(_ reports: [String: SyncReport]) -> String {
        reports.sorted { $0.key < $1.key }.map { name, report in
            let issue = report.issue.map { ", \($0.code.rawValue): \($0.detail)" } ?? ""
            let (pulled, pushed) = (report.pulled, report.pushed)
            return
                "\(name) in \(pulled.imported)+\(pulled.adopted)-\(pulled.deleted)/\(pulled.superseded)!\(pulled.conflicts)"
                + " out \(pushed.done)/\(pushed.failed)/\(pushed.parked)\(issue)"
        }.joined(separator: "; ")
    }

    /// Another app writes to a HealthKit.
    func record(_ device: SimulatedDevice, _ type: SampleType, at date: Date, on number: Int) throws {
        let watch = device.install(bundle: "watch", name: "Watch", kind: .watch, product: "Watch7,1")
        let value = Double(ledger.newValue())
        let name = type.identifier.replacing("HKQuantityTypeIdentifier", with: "")
        try watch.record(name, value, type == .stepCount ? "count" : "kg", from: date)
        note("watch writes \(name) \(value) on \(number)")
    }

    func close() {
        for site in sites { try? site.store.close() }
        try? FileManager.default.removeItem(atPath: scratch)
    }
}
