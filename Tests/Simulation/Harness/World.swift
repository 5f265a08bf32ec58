import Foundation
import HealthKVSync
import HealthKitSimulator
import TestSupport

/// Up to five stores, up to two HealthKits under one cloud, and the links between them; all of it follows from a seed.
final class World {
    let seed: UInt64
    let clock = SimulatedClock()
    let scratch: String
    let plant: Plant?
    var random: SeededGenerator
    /// Draws the second set of events. Each set has its own generator, so that old seeds keep their course.
    var later: SeededGenerator
    /// Whether this seed has the second set of events. Seeds below a million do not: they keep the course in which some
    /// of them once failed.
    let meetsMore: Bool
    /// The percentage of steps that are followed by an event of the second set.
    let laterPercent: Int
    /// Draws the third set of events.
    var last: SeededGenerator
    /// The percentage of steps that are followed by an event of the third set.
    let lastPercent: Int
    /// Draws the fourth set of events.
    var fourth: SeededGenerator
    /// The percentage of steps that are followed by an event of the fourth set.
    let fourthPercent: Int
    /// Draws the fifth set of events.
    var fifth: SeededGenerator
    /// The percentage of steps that are followed by an event of the fifth set.
    let fifthPercent: Int
    /// Draws the sixth set of events.
    var sixth: SeededGenerator
    /// The percentage of steps that are followed by an event of the sixth set.
    let sixthPercent: Int
    /// Draws the eleventh set of events.
    var eleventh: SeededGenerator
    /// The percentage of steps that are followed by an event of the eleventh set.
    let eleventhPercent: Int
    /// The earliest date that the HealthKits of this seed take, if they have one: the seventh set.
    let earliest: Instant?
    /// The date of the first sample of each HealthKit.
    let firstDate: Date
    /// Draws how each store imports steps: the eighth set.
    private var eighth: SeededGenerator
    /// Whether samples that only start before that date are refused, too.
    let earliestBoundsStarts: Bool
    /// Whether two people may edit one sample concurrently if only the cloud links their devices.
    let editsApart: Bool
    /// Whether the run ends without requested comparisons: months pass, and engines compare on their own schedule.
    let comparesByItself: Bool
    /// Whether engines run by themselves, without calls of `sync`.
    let isLive: Bool
    private(set) var sites: [Site] = []
    let cloud: SimulatedCloud?
    var ledger = Ledger()
    /// Backups of stores, with the values in them.
    var backups: [(site: Int, folder: String, values: [SampleID: Int])] = []
    /// Copies of a store's file as it was, which still fit when they are written over the file.
    var fileCopies: [(site: Int, file: String, values: [SampleID: Int])] = []
    /// The part of the world that each store belongs to. Only the cloud connects different parts.
    private(set) var parts: [Int] = []
    /// Whether HealthKit replaces a sample by one with an equal version (SEMANTICS A7); otherwise the new one is
    /// ignored.
    let equalVersionReplaces: Bool
    /// Whether the cloud reports deletions of samples that it never delivered.
    let tellsUnseenDeletions: Bool
    /// Whether a store may have missed a deletion, because it was purged or the store was away: only a comparison finds
    /// it then.
    var needsComparing = false
    /// The samples that a store has from a copy and that its own HealthKit did not have at the time of copying, or had
    /// in an earlier version only; each with the number that the copied store knows.
    var unseen: [Int: [SampleID: Int64]] = [:]
    /// Deletions in the Health app that another HealthKit did not learn of and whose samples it does not hold, each
    /// with the number of the deleted sample.
    var untold: [(id: SampleID, number: Double?, site: Int)] = []
    /// Deletions in Health that the cloud has yet to bring to the HealthKit of a site, which still holds the sample.
    var underWay: [(id: SampleID, value: Int, number: Double?, site: Int)] = []
    /// Deletions in the Health app while engines run by themselves.
    var healthDeletions: [HealthDeletion] = []
    var trace: [String] = []
    /// The sample whose state is added to the trace after every event.
    var watched: SampleID?
    var counts: [String: Int] = [:]

    /// The types that the app writes, and syncs in both directions.
    let types: [SampleType]
    /// The overlays of samples of others.
    var overlays = Ledger()
    /// Steps that left a cache before one of its neighbours read it for the first time.
    var leftEarly: Set<SampleID> = []
    /// Deleted samples that a store must find gone, although HealthKit has forgotten their deletion. Each has the
    /// epochs of all stores at that time.
    var mustBeFound: [SampleID: [UInt64]] = [:]
    /// Whether two stores began with one name.
    private var namesAreShared = false
    /// Whether a HealthKit database was rebuilt.
    var isRebuilt = false
    /// Meals by their groups, with the ids of their samples.
    var meals: [(group: String, ids: [SampleID])] = []

    static let firstOfMore: UInt64 = 1_000_000
    /// Seeds from here on have the third set of events, too.
    static let firstOfLast: UInt64 = 1 << 32
    /// Seeds from here on have the fourth set of events, too.
    static let firstOfFourth: UInt64 = 1 << 40
    /// Seeds from here on have the fifth set of events, too.
    static let firstOfFifth: UInt64 = 1 << 41
    /// Seeds from here on have the sixth set of events, too.
    static let firstOfSixth: UInt64 = 1 << 42
    /// Seeds from here on may have a HealthKit that refuses samples from before a certain date.
    static let firstOfSeventh: UInt64 = 1 << 43
    /// Seeds from here on may have stores that import only the latest steps, or keep them only until others have them.
    static let firstOfEighth: UInt64 = 1 << 44
    /// Seeds from here on may have stores that only send some types.
    static let firstOfNinth: UInt64 = 1 << 45
    /// Seeds from here on may have stores that reach others by messages, a HealthKit that adds an activity to workouts,
    /// record peers whose answers break the rules, and clocks of 1970.
    static let firstOfTenth: UInt64 = 1 << 46
    /// Seeds from here on may have two stores with one name, engines in an extension of the app, comparisons while the
    /// cloud still has something to bring, and purged deletions that a comparison must find.
    static let firstOfEleventh: UInt64 = 1 << 47
    private static let beginning = Date(timeIntervalSinceReferenceDate: 700_000_000)

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
        fifth = SeededGenerator(seed: seed ^ 0xF1F7_4CA1_15FA_0175)
        fifthPercent = !isLive && seed >= World.firstOfFifth ? fifth.pick([0, 10, 30]) : 0
        sixth = SeededGenerator(seed: seed ^ 0x51C7_4E4A_12ED_F11E)
        sixthPercent = !isLive && seed >= World.firstOfSixth ? sixth.pick([0, 3, 10]) : 0
        eleventh = SeededGenerator(seed: seed ^ 0xE1_E7E4_7B5E_A4CE)
        eleventhPercent = !isLive && seed >= World.firstOfEleventh ? eleventh.pick([0, 10, 30]) : 0
        var seventh = SeededGenerator(seed: seed ^ 0x5E_7E47_DA7E_B0D)
        let age: Double? = seventh.pick([nil, nil, 20_000, 100_000, 250_000])
        earliestBoundsStarts = seventh.chance(percent: 50)
        let now = clock.now
        let bound = !isLive && seed >= World.firstOfSeventh ? age.map { now.addingTimeInterval(-$0) } : nil
        earliest = try bound.map { try Instant($0) }
        firstDate = bound ?? World.beginning
        eighth = SeededGenerator(seed: seed ^ 0xE16_47B5_E7E0_F5)
        types = Site.weights + (meetsMore ? [.workout] + Site.nutrients : [])
        SimulatedIdentifiers.seed(seed)
        var options = SimulationOptions()
        options.equalVersionReplaces = random.chance(percent: 40)
        options.limitCountsDeletions = random.chance(percent: 50)
        options.anchorsPassInvisible = random.chance(percent: 70)
        // Derived from the seed itself instead of drawn, so that seeds older than this option keep their course.
        options.cloudTellsUnseenDeletions = seed % 4 != 0
        tellsUnseenDeletions = options.cloudTellsUnseenDeletions
        equalVersionReplaces = options.equalVersionReplaces
        if meetsMore { World.drawMore(&options, &later) }
        options.earliestDateBoundsStarts = earliestBoundsStarts
        var tenth = SeededGenerator(seed: seed ^ 0x7E_47B5_AE55_A6E5)
        options.addsWorkoutActivity = seed >= World.firstOfTenth && tenth.chance(percent: 50)
        let count = random.number(2..<6)
        let drawn = random.pick([0, 1, 1, 2, 2, 2, 2])
        // Engines that run by themselves meet a cloud in every run.
        let healths = isLive ? 2 : drawn
        // Members that a replaced correlation deleted are saved again, and a cloud may deliver only their deletion.
        if healths == 2, meetsMore { options.deletingCorrelationDeletesMembers = false }
        let (clock, open) = (clock, options)
        let devices = (0..<healths).map { _ in SimulatedDevice(clock: clock, options: open) }
        if let bound { for device in devices { device.earliestPermittedDate = bound } }
        cloud = devices.count == 2 ? SimulatedCloud(devices) : nil
        for number in 0..<count {
            sites.append(
                try Site(
                    number, folder: "\(scratch)/store\(number)", health: number < healths ? devices[number] : nil,
                    clock: clock, seed: seed, types: types, runs: isLive, isSmall: meetsLast))
        }
        drawLinks(healths)
        if seed >= World.firstOfTenth { drawMessages(&tenth) }
        if !isLive, seed >= World.firstOfEleventh { drawNames() }
        if !isLive, seed >= World.firstOfEighth { drawImports() }
        if !isLive, seed >= World.firstOfNinth { drawSending() }
        note("\(count) stores, \(healths) HealthKits, links \(sites.map(\.links)), parts \(parts), \(options)")
        if let bound { note("HealthKit takes samples from \(bound) on") }
        // A visible sample at the beginning, so that a comparison can tell which samples are gone.
        for type in Site.weights + [.stepCount] {
            if let device = devices.first { try record(device, type, at: firstDate, on: 0) }
        }
        syncCloud()
        for site in sites { try await begin(site) }
    }

    /// Draws the options added later for behaviour that Apple leaves open.
    private static func drawMore(_ options: inout SimulationOptions, _ later: inout SeededGenerator) {
        options.observerFiresAtStart = later.chance(percent: 70)
        options.deletingCorrelationDeletesMembers = later.chance(percent: 30)
        options.deletionsIgnorePredicates = later.chance(percent: 60)
        options.journalsWhileLocked = later.chance(percent: 60)
        options.largestSave = later.pick([nil, nil, 4, 5])
        options.oversizeInterrupts = later.chance(percent: 50)
        // A connection takes at least 25 objects.
        if options.oversizeInterrupts, options.largestSave != nil { options.largestSave = 25 }
        options.deletingNeedsSharing = later.chance(percent: 60)
        options.samplesFollowSourceName = later.chance(percent: 60)
    }

    /// Draws a tree over all stores, or one over each half if two HealthKits link the halves, and some more links.
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

    /// Draws how far back each store imports steps, and whether it keeps them once its neighbours have them.
    private func drawImports() {
        for site in sites where site.health != nil {
            site.steps.horizon = eighth.pick([.all, .all, .days(1), .days(3)])
            let isCache = eighth.chance(percent: 30)
            if isCache, !site.links.isEmpty { site.steps.retention = .cache }
            note("store\(site.number) imports steps of \(site.steps.horizon), \(site.steps.retention)")
        }
    }

    /// Draws which neighbours a store reaches by messages instead of calls.
    private func drawMessages(_ tenth: inout SeededGenerator) {
        for site in sites { site.byMessages = Set(site.links.filter { _ in tenth.chance(percent: 40) }) }
        note("by messages \(sites.map { $0.byMessages.sorted() })")
    }

    /// Draws whether two devices come to their neighbours under one name, as after a careless choice of names.
    private func drawNames() {
        guard eleventh.chance(percent: 25) else { return }
        let (one, other) = (eleventh.pick(sites), eleventh.pick(sites))
        guard one !== other else { return }
        other.readerName = one.readerName
        namesAreShared = true
        note("store\(other.number) reads as \(other.readerName), as store\(one.number) does")
    }

    /// Draws which types a store only sends to its HealthKit: no other app writes them.
    private func drawSending() {
        var ninth = SeededGenerator(seed: seed ^ 0x917_47B5_5E2D_0717)
        for site in sites where site.health != nil {
            site.sent = ninth.pick([[], Site.nutrients, [.workout], Site.nutrients + [.workout], [.dietaryProtein]])
            note("store\(site.number) only sends \(site.sent)")
        }
    }

    private func link(_ one: Int, _ other: Int) {
        let kind = random.number(0..<3)
        if kind != 1, !sites[one].links.contains(other) { sites[one].links.append(other) }
        if kind != 0, !sites[other].links.contains(one) { sites[other].links.append(one) }
    }

    /// Starts the app of a device for the first time: it requests access and enables all syncs.
    func begin(_ site: Site) async throws {
        let engine = engine(site)
        noteHorizon(of: site)
        for peer in engine.peers {
            if peer == Site.healthName { try await engine.authorize(peer) }
            try await engine.enable(peer)
        }
        if isLive { engine.start() }
    }

    /// Notes from when on a store imports steps that enables its sync now. By a clock that is wrong by years, that may
    /// be any time.
    private func noteHorizon(of site: Site) {
        guard case .days(let days) = site.steps.horizon, let now = try? Instant(clock.now) else { return }
        let latest = max(now, site.skew.time(clock)) - Int64(days) * 86_400 * Instant.nanosecondsPerSecond
        site.stepsFrom = max(site.stepsFrom ?? latest, site.skew.isYears ? .distantFuture : latest)
    }

    func engine(_ site: Site) -> SyncEngine { site.engine ?? site.start(sites, plant) }

    /// Discards engines, so that none uses a handle of a closed store.
    func forgetEngines() { for site in sites { site.engine = nil } }

    func note(_ text: @autoclosure () -> String) {
        trace.append(isLive ? "\(Int(clock.now.timeIntervalSinceReferenceDate)) \(text())" : text())
        guard let id = watched else { return }
        watched = nil
        watch(id)
        watched = id
    }

    /// Delivers all pending changes of the cloud, or a part.
    func syncCloud(percent: Int? = nil) {
        guard let cloud else { return }
        forgetSavedUntold()
        forgetSentAgain()
        defer { underWay.removeAll { !sites[$0.site].holdsInHealth($0.id) } }
        if let percent {
            cloud.sync(percent: percent, using: &later)
        } else {
            cloud.sync()
            let now = ContinuousClock.now
            for index in healthDeletions.indices where healthDeletions[index].delivered == nil {
                healthDeletions[index].delivered = now
            }
            // If the cloud does not report deletions of samples that it had not delivered, they stay untold. If it
            // does, the store of the notified HealthKit may still have to read them. Until then it may get the sample
            // from any store that holds it, and save it.
            if tellsUnseenDeletions {
                let held = sites.map { (try? $0.values()) ?? [:] }
                untold.removeAll { deletion in held.allSatisfy { $0[deletion.id] == nil } }
            }
        }
    }

    func count(_ event: String) { counts[event, default: 0] += 1 }

    /// Syncs a store with one peer or all, and restarts its process if it ended in between.
    func sync(_ site: Site, with peer: PeerID? = nil) async throws {
        let waiting = try site.keepsStepsBriefly ? steps(of: site) : []
        let hasStrangers = try !waiting.isEmpty && hasStrangers(site)
        defer { if hasStrangers, let left = try? steps(of: site) { leftEarly.formUnion(waiting.subtracting(left)) } }
        do {
            let reports = try await engine(site).sync(peer)
            note("  store\(site.number) syncs \(peer?.rawValue ?? "all"): \(summary(reports))")
            follow(reports, of: site)
            if let report = reports[Site.healthName], report.issue == nil {
                site.trustedEpoch = try site.store.blockingRead { UInt64($0.epoch) }
            }
        } catch is CancellationError {
            note("  store\(site.number) syncs \(peer?.rawValue ?? "all"): ended")
        }
        if site.wire.hasCrashed {
            count("crash")
            try site.reopen()
            forgetEngines()
        } else {
            site.calls.answer()
        }
    }

    private func steps(of site: Site) throws -> Set<SampleID> {
        try site.store.read { txn in
            Set(try txn.samples(SampleQuery(.stepCount, includeShadowed: true)).map(\.id))
        }
    }

    /// Whether a neighbour means to read a store and has never met it.
    private func hasStrangers(_ site: Site) throws -> Bool {
        if namesAreShared { return true }
        let known = try site.store.read { Set(try $0.peers().map(\.id)) }
        return sites.contains { $0.links.contains(site.number) && !known.contains($0.readerName) }
    }

    /// Does what an issue asks the user to do: a store whose name another one has taken reads under another name.
    private func follow(_ reports: [PeerID: SyncReport], of site: Site) {
        guard reports.values.contains(where: { $0.issue?.code == .nameTaken }) else { return }
        site.rename()
        note("store\(site.number) reads as \(site.readerName) from now on")
    }

    /// Adds the state of one sample in all stores to the trace, for analyzing a finding.
    func watch(_ id: SampleID) {
        let now = sites.map { site in
            let text = try? site.store.read { txn -> String in
                let held = try txn.sample(id: id).map { "\($0.ledgerValue) v\($0.version)" }
                let gone = try txn.deletedSample(id: id).map { "gone v\($0.version)" }
                let link = try txn.link(peer: Site.healthName, sample: id)
                let known = link.map { " link v\($0.version) \($0.idAtPeer.description.prefix(4))" } ?? ""
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

    private func summary(_ reports: [PeerID: SyncReport]) -> String {
        reports.sorted { $0.key < $1.key }.map { name, report in
            let issue = report.issue.map { ", \($0.code.rawValue): \($0.detail)" } ?? ""
            let (pulled, pushed) = (report.pulled, report.pushed)
            return
                "\(name) in \(pulled.imported)+\(pulled.adopted)-\(pulled.deleted)/\(pulled.superseded)!\(pulled.conflicts)"
                + " out \(pushed.done)/\(pushed.failed)/\(pushed.parked)\(issue)"
        }.joined(separator: "; ")
    }

    /// Whether HealthKit refuses a sample of this type, start and value for its date.
    func isTooEarly(_ entry: Ledger.Entry, _ value: Int) -> Bool {
        guard let earliest else { return false }
        let isSpan = entry.type == .workout && !earliestBoundsStarts
        return entry.start + (isSpan ? Int64(value) * 10 * 1_000_000_000 : 0) < earliest
    }

    /// Another app writes to a HealthKit.
    func record(_ device: SimulatedDevice, _ type: SampleType, at date: Date, on number: Int) throws {
        let watch = device.install(bundle: "watch", name: "Watch", kind: .watch, product: "Watch7,1")
        let value = Double(ledger.newValue())
        let name = type.identifier.replacing("HKQuantityTypeIdentifier", with: "")
        try watch.record(name, value, type == .stepCount ? "count" : "kg", from: date)
        note("watch writes \(name) \(value) on \(number), from \(date)")
    }

    func close() {
        for site in sites { try? site.store.close() }
        try? FileManager.default.removeItem(atPath: scratch)
    }
}
