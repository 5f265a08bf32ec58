import Foundation
import HealthKVSync
import HealthKitSimulator

/// The end of a run: all faults end, every device syncs, and all stores must agree.
extension World {
    /// The limit of rounds before rest; more rounds mean that changes circulate endlessly.
    private static let roundsMax = 40

    /// Makes all hanging calls return, and waits for their remaining work, which is not part of the next events.
    func endHungCalls() async {
        let isHung = sites.contains { $0.wire.hungCalls + ($0.health?.hungCalls ?? 0) > 0 }
        for site in sites {
            site.wire.restart(whole: true)
            site.health?.releaseHungCalls()
        }
        if isHung { try? await Task.sleep(for: .milliseconds(20)) }
    }

    /// Ends all faults, locks and denials.
    func mend() async throws {
        await endHungCalls()
        for site in sites {
            if site.skew.isYears { site.skew.set(0) }
            guard let health = site.health, let app = site.app else { continue }
            health.unlock()
            health.forgetFailures()
            health.delayObserverCalls(by: 0)
            health.repeatObserverCalls(1)
            for type in types + [.stepCount] {
                health.setAccess(of: app, to: type.identifier, reading: .granted, sharing: .granted)
            }
            if site.wasBlind { try await engine(site).authorize(Site.healthName) }
        }
    }

    func settle() async throws {
        try await mend()
        try await comeToRest()
        if counts["fitting copy over a file", default: 0] > 3 {
            // A store becomes another replica at most three times a week.
            clock.advance(by: 8 * 86_400)
            try await comeToRest()
        }
        try forgetDoubtful()
        guard needsComparing else { return }
        if comparesByItself {
            for _ in 0..<4 {
                clock.advance(by: 32 * 86_400)
                try await comeToRest()
            }
            return
        }
        try await compare()
        try await comeToRest()
    }

    /// Compares all stores with their HealthKits.
    func compare() async throws {
        for _ in 0..<2 {
            for site in sites where site.health != nil {
                let report = try await engine(site).reconcile(Site.healthName)
                note("store\(site.number) is compared with HealthKit: \(report)")
            }
        }
    }

    private func comeToRest() async throws {
        var last: [String] = []
        var quiet = 0
        for _ in 0..<World.roundsMax {
            clock.advance(by: 7_200)
            for site in sites { try await sync(site) }
            syncCloud()
            let now = try fingerprint()
            quiet = now == last ? quiet + 1 : 0
            if quiet == 2 { return }
            last = now
        }
        throw Finding("it does not come to rest")
    }

    private func fingerprint() throws -> [String] {
        try sites.map { site in
            let digest = try site.store.read { try $0.syncDigest() }
            let waiting = try site.store.read { try $0.pending().count }
            let held = (site.healthValues().map(\.sample) + site.foreign()).map(\.uuid.uuidString).sorted()
            return "\(digest) \(waiting) \(held)"
        }
    }

    /// Describes everything that is wrong.
    func findings() throws -> [String] {
        var found: [String] = []
        forgetKeptFromCloud()
        for site in sites {
            let report = try site.store.check()
            if !report.findings.isEmpty { found.append("store\(site.number): \(report.findings)") }
            let values = try site.values()
            let waiting = try site.store.read { try $0.pending() }.filter { !isRefused($0, values) }
            if !waiting.isEmpty {
                found.append(
                    "store\(site.number): waits: \(waiting.map { "\($0.peer) \($0.kind) \($0.sample) \($0.reason)" })")
            }
            found += try health(of: site)
        }
        found += try differences()
        let values = try sites.map { try $0.values() }
        for id in ledger.ids { found += fate(of: id, values) }
        found += try findingsInMore()
        return found
    }

    /// Marks the samples that HealthKit refuses for their date. No cloud carries them between the parts of the world.
    private func forgetKeptFromCloud() {
        guard let home = parts.first, parts.contains(where: { $0 != home }) else { return }
        for (id, entry) in ledger.entries {
            // A deleted one as well: a copied store may have carried it to the other part.
            let isKept = entry.acts.contains { act in
                if case .save(let value) = act.kind { isTooEarly(entry, value) } else { false }
            }
            if isKept { ledger.markUnknowable(id) }
        }
    }

    /// Whether an operation is to wait for ever, because HealthKit refuses the sample for its date.
    private func isRefused(_ operation: PendingOperation, _ values: [SampleID: Int]) -> Bool {
        guard operation.kind == .save, operation.state == .quarantined, let value = values[operation.sample],
            let entry = ledger.entries[operation.sample]
        else { return false }
        return isTooEarly(entry, value)
    }

    /// Linked stores must be equal to the last bit; all others must hold the same samples.
    private func differences() throws -> [String] {
        var found = try differencesOfSteps()
        let isAnyCached = sites.contains(where: \.keepsStepsBriefly)
        let contents = try sites.map { try content(of: $0, types) }
        for (number, site) in sites.enumerated().dropFirst() {
            let twin = parts.firstIndex(of: parts[number])!
            // What leaves some stores, and is only in others, has no part in the digests.
            let alike: [SampleType?] = isAnyCached ? types : [nil]
            let (one, other) = (
                try site.store.read { txn in try alike.map { try txn.syncDigest(of: $0) } },
                try sites[twin].store.read { txn in try alike.map { try txn.syncDigest(of: $0) } }
            )
            if one != other {
                let samples = try sample(of: site, unlike: sites[twin]) + sample(of: sites[twin], unlike: site)
                found.append("store\(number) and store\(twin) have different digests\(samples)")
            }
            let difference = Set(contents[number]).symmetricDifference(contents[0])
            if !difference.isEmpty {
                found.append("store\(number) and store0 differ in \(difference.sorted().prefix(8))")
            }
        }
        return found
    }

    /// Describes a sample that differs between two stores, as each store has it.
    private func sample(of site: Site, unlike other: Site) throws -> String {
        func digest(_ sample: Sample?) -> SyncDigest {
            var digest = SyncDigest()
            if let sample { digest.add(sample) }
            return digest
        }
        for type in types + [.stepCount] {
            for one in try site.store.read({ try $0.samples(SampleQuery(type, includeShadowed: true)) }) {
                let held = try other.store.read { try $0.sample(id: one.id) }
                if digest(one) != digest(held) { return ": \(one) and \(held.map { "\($0)" } ?? "nothing")" }
            }
        }
        return ""
    }

    /// Steps are imported only, by each store as far back as it wants. Those that every store imports, all must hold
    /// that keep them.
    private func differencesOfSteps() throws -> [String] {
        let keeping = sites.filter { !$0.keepsStepsBriefly }
        // What only a store without its copies held, a neighbour that was put back does not regain.
        let mayLack = keeping.count < sites.count && World.losses.contains { counts[$0, default: 0] > 0 }
        guard let first = keeping.first, !mayLack else { return [] }
        // A store passes on what it imports, also if it keeps none of it.
        let from = sites.compactMap(\.stepsFrom).max()
        let contents = try keeping.map { Set(try content(of: $0, [.stepCount], from: from)) }
        return zip(keeping, contents).dropFirst().compactMap { site, content in
            let difference = content.symmetricDifference(contents[0]).sorted()
            if difference.isEmpty { return nil }
            return "store\(site.number) and store\(first.number) differ in steps: \(difference.prefix(8))"
        }
    }

    /// What happens to stores that may lose imports of which a neighbour keeps no copy.
    private static let losses = [
        "restore", "copy over a file", "fitting copy over a file", "reinstall", "clone", "silence",
    ]

    private func content(of site: Site, _ types: [SampleType], from: Instant? = nil) throws -> [String] {
        let foreign = Set(sites.flatMap { $0.foreign() }.map { $0.uuid.uuidString.lowercased() })
        // A copy may bring samples that the cloud never delivered, and their deletion reaches one part of the world
        // only.
        let isUntold = !tellsUnseenDeletions && counts["clone", default: 0] > 0
        let mayBePurged = counts["purge", default: 0] > 0 || isUntold
        return try site.store.read { txn in
            try types.flatMap { type in
                try txn.samples(SampleQuery(type, includeShadowed: true)).compactMap { sample in
                    if let from, sample.start < from { return nil }
                    if ledger.entries[sample.id]?.isUnknowable ?? false { return nil }
                    if leftEarly.contains(sample.id) { return nil }
                    // One part of the world may have read the deletion before it was purged, and the other not.
                    let isGone = !foreign.contains(sample.id.description.lowercased())
                    if sample.origin == .imported, mayBePurged, isGone { return nil }
                    return "\(sample.id) \(sample.start.nanoseconds) \(sample.importedValue) \(sample.origin)"
                }
            }
        }
    }

    /// A store and its HealthKit must hold the same samples, each once.
    private func health(of site: Site) throws -> [String] {
        guard site.health != nil else { return [] }
        var found: [String] = []
        let values = try site.values()
        var held: [SampleID: [Int]] = [:]
        for (type, sample) in site.healthValues() {
            guard let id = sample.syncIdentifier.flatMap({ SampleID($0) }) else {
                found.append("HealthKit \(site.number) holds \(sample.value) without a name")
                continue
            }
            held[id, default: []].append(sample.ledgerValue(of: type))
        }
        for id in ledger.ids where !ledger.entries[id]!.isUnknowable {
            let there = held[id] ?? []
            let here = values[id].map { isTooEarly(ledger.entries[id]!, $0) ? [] : [$0] } ?? []
            if here != there { found.append("\(id): store\(site.number) holds \(here), its HealthKit \(there)") }
        }
        for id in held.keys where ledger.entries[id] == nil {
            found.append("HealthKit \(site.number) holds \(id), which nobody wrote")
        }
        let foreign = Set(try site.wanted().map { "\($0.uuid.uuidString.lowercased()) \($0.value)" })
        // Where a deletion was purged, the absence of a step proves something only if an earlier one is shown, and the
        // earlier ones lie before the horizon.
        let isUntold = counts["purge", default: 0] > 0 && site.stepsFrom != nil
        let proving = isUntold ? try site.earliestStep() ?? .distantFuture : .distantPast
        let imported = try site.store.read { txn in
            try (types + [.stepCount]).flatMap { try txn.samples(SampleQuery($0, includeShadowed: true)) }
                .filter { sample in
                    guard sample.origin == .imported, site.imports(sample.type, sample.start) else { return false }
                    // The store keeps samples that another store delivered, even if its own HealthKit lacks them: the
                    // other store's HealthKit may hold them, and a deletion purged before any store read it is unknown.
                    let link = try txn.link(peer: Site.healthName, sample: sample.id)
                    let isUnproved = sample.type == .stepCount && sample.start < proving
                    return link?.isFromElsewhere != true && !isUnproved
                        || foreign.contains("\(sample.id.description.lowercased()) \(sample.importedValue)")
                }
                .map { "\($0.id.description.lowercased()) \($0.importedValue)" }
        }
        if imported.count != Set(imported).count { found.append("store\(site.number) holds imports twice") }
        let difference = foreign.symmetricDifference(imported)
        if !difference.isEmpty {
            found.append(
                "store\(site.number) and HealthKit differ in others' samples: \(difference.sorted().prefix(8))")
        }
        return found
    }

    /// Checks that the final state of a sample is a possible result of its user's acts.
    private func fate(of id: SampleID, _ values: [[SampleID: Int]]) -> [String] {
        let entry = ledger.entries[id]!
        let possible = entry.possible
        if entry.isUnknowable { return [] }
        return zip(sites, values).compactMap { site, values in
            if let value = values[id] {
                return possible.values.contains(value)
                    ? nil : "\(id): store\(site.number) holds \(value), not \(wanted(possible))"
            }
            return possible.mayBeGone ? nil : "\(id): store\(site.number) lost it, wanted \(wanted(possible))"
        }
    }

    private func wanted(_ possible: (values: Set<Int>, mayBeGone: Bool)) -> String {
        "\(possible.values.sorted())\(possible.mayBeGone ? " or nothing" : "")"
    }
}

/// A finding of a run, in words.
struct Finding: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
