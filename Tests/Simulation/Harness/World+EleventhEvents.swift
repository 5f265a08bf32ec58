import HealthKVSync
import TestSupport

/// Additional events of seeds from 2^47 on, drawn from a separate generator.
extension World {
    func stepEleventh() async throws {
        let site = eleventh.pick(sites)
        switch eleventh.number(0..<100) {
        case 0..<20: workElsewhere(site)
        case 20..<45: try await compareNow(site)
        default: try purgeUnheard(site)
        }
    }

    /// From now on the engine runs in an extension of the app, or in the app again.
    private func workElsewhere(_ site: Site) {
        guard site.app != nil else { return }
        site.worksInExtension.toggle()
        site.engine = nil
        note("store\(site.number) syncs in \(site.worksInExtension ? "an extension" : "the app")")
        count("engine in an extension")
    }

    /// Compares a store with its HealthKit, whatever the cloud has yet to bring.
    private func compareNow(_ site: Site) async throws {
        guard site.health != nil else { return }
        note("store\(site.number) is compared while the cloud is at work")
        do { try await engine(site).reconcile(Site.healthName) } catch is SyncIssue {} catch is CancellationError {}
        if site.wire.hasCrashed {
            try site.reopen()
            forgetEngines()
        }
        count("comparison beside the cloud")
    }

    /// The user deletes a weight in the Health app, and the system forgets all deletions. Each that a store has yet to
    /// hear of, and whose sample its HealthKit showed it, the next comparison must find.
    private func purgeUnheard(_ site: Site) throws {
        guard let health = site.health else { return }
        let shown = site.healthValues().filter { Site.weights.contains($0.type) }.map(\.sample)
            .sorted { ($0.start, $0.value) < ($1.start, $1.value) }
        let began = ContinuousClock.now
        if let sample = shown.randomElement(using: &eleventh), let id = sample.syncIdentifier.flatMap({ SampleID($0) }),
            !health.userDeletes(sample.uuid).isEmpty
        {
            note("the user deletes \(sample.value) in Health \(site.number)")
            noteDeletion(of: id, Int(sample.value), sample.version, by: health, since: began)
        }
        health.purgeDeletions(olderThan: 0)
        needsComparing = true
        note("deletions are purged in HealthKit \(site.number)")
        count("purge")
        count("purge before a comparison")
        let values = try sites.map { try $0.values() }
        let epochs = try sites.map { try epoch(of: $0) }
        let copies = backups.map(\.values) + fileCopies.map(\.values)
        for (id, entry) in ledger.entries where entry.acts.contains(where: { $0.kind == .delete }) {
            let holders = sites.filter { values[$0.number][id] != nil }
            let isCopied = copies.contains { $0[id] != nil }
            if holders.isEmpty, !isCopied { continue }
            let isProved = try holders.contains { $0.health != nil } && holders.allSatisfy { try hasProof(of: id, $0) }
            if isProved, !isCopied, !isRebuilt {
                mustBeFound[id] = epochs
                count("purged deletion to be found")
            } else {
                ledger.markUnknowable(id)
            }
        }
    }

    /// Whether a store knows from its own HealthKit that the sample was there, and sends nothing that puts it back.
    private func hasProof(of id: SampleID, _ site: Site) throws -> Bool {
        guard site.health != nil else { return true }
        if try unseen[site.number]?[id] != nil || site.trustedEpoch != epoch(of: site) { return false }
        return try site.store.read { txn in
            guard let link = try txn.link(peer: Site.healthName, sample: id) else { return false }
            let isWaiting = try txn.pending(peer: Site.healthName, sample: id) != nil
            return link.isHeldThere && !link.isProvisional && !link.isFromElsewhere && !isWaiting
        }
    }

    private func epoch(of site: Site) throws -> UInt64 { try site.store.read { UInt64($0.epoch) } }

    /// Marks those samples whose absence no comparison may take for a deletion: too many are gone, or the store has
    /// begun another epoch since.
    func forgetDoubtful() throws {
        for site in sites where site.health != nil {
            let (values, epoch) = (try site.values(), try epoch(of: site))
            for (id, epochs) in mustBeFound where values[id] != nil && epochs[site.number] != epoch {
                ledger.markUnknowable(id)
            }
            let shown = Set(site.healthValues().compactMap { $0.sample.syncIdentifier.flatMap { SampleID($0) } })
            for type in types {
                let held = values.keys.filter { ledger.entries[$0]?.type == type }
                let gone = held.filter { !shown.contains($0) }
                guard gone.count > min(8, held.count - gone.count) else { continue }
                for id in gone where mustBeFound[id] != nil { ledger.markUnknowable(id) }
            }
        }
    }
}
