import Foundation
import HealthKVSync
import HealthKitSimulator
import TestSupport

/// The events of the world, one at a time.
extension World {
    func step() async throws {
        clock.advance(by: Double(random.number(1..<5_400)))
        let site = random.pick(sites)
        switch random.number(0..<100) {
        case 0..<16: try await write(site)
        case 16..<32: try await edit(site)
        case 32..<36: try await editOnTwo()
        case 36..<42: try await delete(site)
        case 42..<48: try foreignWrite()
        case 48..<52: userDeletes()
        case 52..<56:
            syncCloud()
            note("the cloud brings all that it has")
        case 56..<64: planCrash(site)
        case 64..<70: planFault(site)
        case 70..<73: lock(site)
        case 73..<77: changeAccess(site)
        case 77..<80: failCalls(site)
        case 80..<83: disturbWakeUps(site)
        case 83..<85: skew(site)
        case 85..<87: purge()
        case 87..<90: try backUp(site)
        case 90..<92: try await restore()
        case 92..<94: try await reinstall(site)
        case 94..<95: try await cloneStore()
        case 95..<96: try await reconcile(site)
        default: break
        }
        if random.chance(percent: 55) { try await sync(random.pick(sites)) }
        try await answerCalls()
        if later.chance(percent: laterPercent) { try await stepLater() }
        if last.chance(percent: lastPercent) { try stepLast() }
        if fourth.chance(percent: fourthPercent) { try await stepFourth() }
        if fifth.chance(percent: fifthPercent) { stepFifth() }
        if sixth.chance(percent: sixthPercent) { try stepSixth() }
        if eleventh.chance(percent: eleventhPercent) { try await stepEleventh() }
    }

    private func stepLast() throws {
        let site = last.pick(sites)
        if last.chance(percent: 80) {
            while try site.store.maintain() {}
            note("store\(site.number) does its upkeep")
            count("upkeep")
        } else {
            try overwrite()
        }
    }

    // MARK: What users do

    func write(_ site: Site) async throws {
        let id = SampleID(using: &random)
        let value = ledger.newValue()
        let type = random.pick(Site.weights)
        let start = try Instant(clock.now.addingTimeInterval(-Double(random.number(0..<400_000))))
        let sample = Sample(type, Double(value), .kilogram, at: start, id: id)
        _ = try await site.store.write { try $0.save(sample) }
        note("store\(site.number) writes \(value) as \(id)")
        ledger.save(
            id, value,
            new: Ledger.Entry(type: type, start: start, home: parts[site.number]), upon: nil)
        count("write")
    }

    func edit(_ site: Site) async throws {
        let values = try site.values()
        let known = ledger.ids.filter { values[$0] != nil && mayEdit($0, at: site) }
        guard !known.isEmpty else { return }
        try await edit(random.pick(known), at: site, upon: values)
    }

    /// Edits one sample on two devices at the same time.
    func editOnTwo() async throws {
        let (one, other) = (random.pick(sites), random.pick(sites))
        guard one !== other else { return }
        let (values, others) = (try one.values(), try other.values())
        let known = ledger.ids.filter {
            values[$0] != nil && others[$0] != nil && mayEdit($0, at: one) && mayEdit($0, at: other)
        }
        guard !known.isEmpty else { return }
        let id = random.pick(known)
        try await edit(id, at: one, upon: values)
        clock.advance(by: 1)
        try await edit(id, at: other, upon: others)
        count("edit on two devices")
    }

    /// Whether a sample may be edited at a device. If HealthKit skips equal versions and no stores are linked,
    /// concurrent edits would never meet (SEMANTICS A7).
    func mayEdit(_ id: SampleID, at site: Site) -> Bool {
        editsApart || equalVersionReplaces || parts.allSatisfy { $0 == parts[0] }
            || ledger.entries[id]?.home == parts[site.number]
    }

    private func edit(_ id: SampleID, at site: Site, upon values: [SampleID: Int]) async throws {
        let value = ledger.newValue()
        // A running engine may have imported another value since.
        let edited = try await site.store.write { txn -> Int? in
            guard var sample = try txn.sample(id: id) else { return nil }
            let before = sample.ledgerValue
            sample.setLedgerValue(value)
            sample.version = 0
            try txn.save(sample)
            return before
        }
        guard let before = edited else { return }
        note("store\(site.number) edits \(id) from \(before) to \(value)")
        let entry = ledger.entries[id]!
        ledger.save(id, value, new: entry, upon: before)
        count("edit")
    }

    func delete(_ site: Site) async throws {
        let values = try site.values()
        let known = ledger.ids.filter { values[$0] != nil }
        guard !known.isEmpty else { return }
        let id = random.pick(known)
        let deleted = try await site.store.write { txn -> Int? in
            let before = try txn.sample(id: id)?.ledgerValue
            return try txn.delete(id: id) ? before : nil
        }
        guard let before = deleted else { return }
        note("store\(site.number) deletes \(id) \(before)")
        let deletion = try site.store.blockingRead { try $0.deletedSample(id: id) }
        ledger.delete(id, value: before, by: deletion)
        forgetUnseen(id)
        forgetInRebuiltElsewhere(id)
        count("delete")
    }

    func foreignWrite() throws {
        let devices = sites.compactMap { site in site.health.map { (site.number, $0) } }
        guard !devices.isEmpty else { return }
        let (number, device) = random.pick(devices)
        let date = max(firstDate, clock.now.addingTimeInterval(-Double(random.number(0..<400_000))))
        try record(device, random.pick(Site.weights + [.stepCount]), at: date, on: number)
        count("foreign write")
    }

    /// Deletes a sample of any writer in the Health app, except the old samples that show a comparison how far it can
    /// read.
    func userDeletes() {
        let devices = sites.compactMap(\.health)
        guard !devices.isEmpty else { return }
        let device = random.pick(devices)
        let held = (Site.weights + [.stepCount]).flatMap { device.contents(of: $0.identifier) }
            .filter { $0.start > firstDate }
            .sorted { ($0.start, $0.value) < ($1.start, $1.value) }
        guard !held.isEmpty else { return }
        let sample = random.pick(held)
        // A running engine may have replaced it since.
        let began = ContinuousClock.now
        if device.userDeletes(sample.uuid).isEmpty { return }
        note("the user deletes \(sample.value) in Health")
        if let id = sample.syncIdentifier.flatMap({ SampleID($0) }) {
            noteDeletion(of: id, Int(sample.value), sample.version, by: device, since: began)
        }
        count("deletion in Health")
    }

    /// Notes that a version of an own sample was deleted in the Health app.
    func noteDeletion(
        of id: SampleID, _ value: Int, _ number: Double?, by device: SimulatedDevice,
        since began: ContinuousClock.Instant
    ) {
        ledger.delete(id, value: value, version: PeerNumber.slot(of: Int64(number ?? 0)))
        forgetUnseen(id)
        forgetInRebuilt(id)
        leaveUntold(id, value, number, by: device, since: began)
    }

    /// The cloud does not report the deletion of a sample that it has not delivered yet, so a store that has the sample
    /// from a copy never learns of the deletion.
    func forgetUnseen(_ id: SampleID) {
        for (site, copied) in unseen {
            guard let number = copied[id] else { continue }
            if !sites[site].holdsInHealth(id, atLeast: number) { ledger.markUnknowable(id) }
        }
    }

    func leaveUntold(
        _ id: SampleID, _ value: Int, _ number: Double?, by device: SimulatedDevice,
        since began: ContinuousClock.Instant
    ) {
        if isLive, let site = sites.first(where: { $0.health === device }) {
            healthDeletions.append(HealthDeletion(id: id, site: site.number, began: began, ended: .now))
        }
        for site in sites where site.health != nil && site.health !== device {
            if site.holdsInHealth(id) {
                underWay.append((id, value, number, site.number))
            } else {
                untold.append((id, number, site.number))
            }
        }
    }

    /// Marks samples that were deleted in one HealthKit and saved again in another under a greater number before the
    /// cloud brought the deletion there, as when the last member of a meal completes it. The new object is not what was
    /// deleted, and the stores cannot tell the deletion from the end of the object that the save replaced.
    func forgetSentAgain() {
        underWay.removeAll { deletion in
            let isSentAgain = sites[deletion.site].healthValues().contains {
                $0.sample.syncIdentifier == deletion.id.description
                    && $0.sample.ledgerValue(of: $0.type) == deletion.value
                    && $0.sample.version ?? 0 > deletion.number ?? 0
            }
            if isSentAgain { ledger.markUnknowable(deletion.id) }
            return isSentAgain
        }
    }

    /// Marks samples whose deletion reached one HealthKit only and which were then saved there again, under the same or
    /// a greater number. The other HealthKit is then told of the new object and of the deletion of its name, so it
    /// learns of the deletion too.
    func forgetSavedUntold() {
        untold.removeAll { deletion in
            let isSaved = sites[deletion.site].healthValues().contains {
                $0.sample.syncIdentifier == deletion.id.description
                    && $0.sample.version ?? 0 >= deletion.number ?? 0
            }
            if isSaved { ledger.markUnknowable(deletion.id) }
            return isSaved
        }
    }

    // MARK: What goes wrong

    private func planCrash(_ site: Site) {
        let step = random.pick(SyncStep.allCases)
        site.wire.plan(crashAt: step, after: random.number(0..<3))
        note("store\(site.number) is to end at \(step)")
    }

    private func planFault(_ site: Site) {
        let fault = random.pick(WireFault.ofWires)
        site.wire.plan(fault, after: random.number(0..<3))
        note("store\(site.number) is to meet \(fault)")
    }

    func lock(_ site: Site) {
        guard let health = site.health else { return }
        if random.chance(percent: 50) { health.lock() } else { health.unlock() }
        count("lock")
    }

    private func changeAccess(_ site: Site) {
        guard let health = site.health, let app = site.app else { return }
        let type = random.pick(Site.weights + [.stepCount])
        let reading: SimulatedDevice.Reading? = random.pick([nil, .denied, .granted])
        let sharing: SimulatedDevice.Sharing? = random.pick([nil, .denied, .granted])
        if reading == .denied { site.wasBlind = true }
        health.setAccess(of: app, to: type.identifier, reading: reading, sharing: sharing)
        note("access of store\(site.number) to \(type): \(String(describing: reading)), \(String(describing: sharing))")
        count("access")
    }

    func failCalls(_ site: Site) {
        guard let health = site.health else { return }
        let call = random.pick([SimulatedCall.save, .delete, .changes, .samples])
        health.fail(call, number: random.number(1..<4), afterEffect: random.chance(percent: 50))
        note("\(call) of HealthKit \(site.number) is to fail")
        count("failing call")
    }

    func disturbWakeUps(_ site: Site) {
        guard let health = site.health else { return }
        switch random.number(0..<4) {
        case 0: health.dropObserverCalls(random.number(1..<4))
        case 1: health.delayObserverCalls(by: Double(random.number(1..<7_200)))
        case 2: health.repeatObserverCalls(random.number(2..<4))
        default:
            health.delayObserverCalls(by: 0)
            health.repeatObserverCalls(1)
        }
        count("disturbed wake-ups")
    }

    private func skew(_ site: Site) {
        site.skew.set(random.pick([0, -86_400, 86_400, -90_000, 90_000]))
        note("clock of store\(site.number)")
        count("clock")
    }

    /// The system forgets deletions, of any age or older than an hour. A store that has not read one by now never will.
    private func purge() {
        guard let health = random.pick(sites).health else { return }
        health.purgeDeletions(olderThan: random.pick([0, 3_600]))
        needsComparing = true
        note("deletions are purged")
        count("purge")
        forgetUnheardDeletions()
    }

    /// Marks deleted samples that a store, a backup or a copied file still holds. Nobody can tell these of the deletion
    /// any more: a restored store keeps what its peer does not show.
    func forgetUnheardDeletions() {
        let live = sites.compactMap { try? $0.values() } + backups.map(\.values) + fileCopies.map(\.values)
        for (id, entry) in ledger.entries where entry.acts.contains(where: { $0.kind == .delete }) {
            if live.contains(where: { $0[id] != nil }) { ledger.markUnknowable(id) }
        }
    }

    // MARK: What happens to stores

    private func backUp(_ site: Site) throws {
        let folder = "\(scratch)/backup\(backups.count)"
        try site.store.backup(to: folder)
        backups.append((site.number, folder, try site.values()))
        note("store\(site.number) is backed up")
        count("backup")
    }

    /// Records which samples exist outside a store before that store is removed.
    func lose(_ site: Site, beside values: [SampleID: Int]) throws {
        needsComparing = true
        unseen[site.number] = nil
        for id in mustBeFound.keys { ledger.markUnknowable(id) }
        var held = values.mapValues { Set([$0]) }
        var deleted: [SampleID: DeletedSample] = [:]
        for other in sites {
            for (type, sample) in other.healthValues() {
                if let id = sample.syncIdentifier.flatMap({ SampleID($0) }) {
                    held[id, default: []].insert(sample.ledgerValue(of: type))
                }
            }
            guard other !== site else { continue }
            for (id, value) in try other.values() { held[id, default: []].insert(value) }
            let ids = ledger.ids
            try other.store.read { txn in
                for id in ids {
                    guard let known = try txn.deletedSample(id: id) else { continue }
                    if let other = deleted[id], (other.version, other.modified) >= (known.version, known.modified) {
                        continue
                    }
                    deleted[id] = known
                }
            }
        }
        ledger.lose(held: held, deleted: deleted)
        if isRebuilt { forgetDeletedInRebuilt(values) }
        try loseOverlays(of: site)
    }

    private func restore() async throws {
        guard !backups.isEmpty else { return }
        let backup = random.pick(backups)
        let site = sites[backup.site]
        try lose(site, beside: backup.values)
        let epoch = try site.store.blockingRead { $0.epoch }
        try site.replaceStore(by: backup.folder, reinstalls: false)
        forgetEngines()
        let now = try site.store.blockingRead { $0.epoch }
        if now == epoch { note("the epoch of store\(site.number) is \(now) as before") }
        note("store\(site.number) is restored")
        count("restore")
    }

    private func overwrite() throws {
        guard !backups.isEmpty else { return }
        let backup = last.pick(backups)
        let site = sites[backup.site]
        try lose(site, beside: backup.values)
        try site.overwriteStore(by: backup.folder)
        forgetEngines()
        note("an older state of store\(site.number) is copied over its file")
        count("copy over a file")
    }

    func reinstall(_ site: Site) async throws {
        try lose(site, beside: [:])
        try site.replaceStore(by: nil, reinstalls: true)
        forgetEngines()
        try await begin(site)
        note("store\(site.number) is installed again")
        count("reinstall")
    }

    /// Sets up a device from another one's store. A copy from a device with HealthKit goes only to another such device,
    /// because a device without HealthKit would keep a queue for it.
    func cloneStore() async throws {
        let (from, to) = (random.pick(sites), random.pick(sites))
        guard from !== to, from.health == nil || to.health != nil else { return }
        let values = try from.values()
        try lose(to, beside: values)
        let copy = "\(scratch)/clone"
        try from.store.backup(to: copy)
        try to.replaceStore(by: copy, reinstalls: true)
        try FileManager.default.removeItem(atPath: copy)
        forgetEngines()
        try await begin(to)
        unseen[to.number] = try unseenNumbers(to, values)
        if !tellsUnseenDeletions { forgetUntold(to, values) }
        note("store\(to.number) becomes a copy of store\(from.number)")
        count("clone")
    }

    /// The samples of a copy that the HealthKit beside it does not hold, or holds in an earlier version, with the
    /// numbers that the copied store knows.
    private func unseenNumbers(_ site: Site, _ values: [SampleID: Int]) throws -> [SampleID: Int64] {
        guard site.health != nil else { return [:] }
        return try site.store.read { txn in
            var unseen: [SampleID: Int64] = [:]
            for id in values.keys {
                let number = max(0, try txn.link(peer: Site.healthName, sample: id)?.version ?? 0)
                if !site.holdsInHealth(id, atLeast: number) { unseen[id] = number }
            }
            return unseen
        }
    }

    /// Marks the samples of a copy that no HealthKit holds any more: they were deleted before the cloud delivered them,
    /// so no other device learns of the deletion.
    private func forgetUntold(_ site: Site, _ values: [SampleID: Int]) {
        for id in values.keys where !sites.contains(where: { $0.holdsInHealth(id) }) { ledger.markUnknowable(id) }
        for id in (unseen[site.number] ?? [:]).keys {
            let acts = ledger.entries[id]?.acts ?? []
            if acts.contains(where: { $0.kind == .delete }) { ledger.markUnknowable(id) }
        }
    }

    private func reconcile(_ site: Site) async throws {
        let engine = engine(site)
        guard let peer = engine.peers.randomElement(using: &random) else { return }
        note("store\(site.number) is compared with \(peer)")
        // In old seeds a comparison waits for the cloud.
        if seed < World.firstOfEleventh { syncCloud() }
        do { try await engine.reconcile(peer) } catch is SyncIssue {} catch is CancellationError {}
        if site.wire.hasCrashed {
            try site.reopen()
            forgetEngines()
        }
        count("reconcile")
    }

    /// Syncs after wake-ups, at once or late.
    func answerCalls() async throws {
        for site in sites where !site.calls.isEmpty && random.chance(percent: 70) {
            count("wake-up")
            try await sync(site, with: Site.healthName)
        }
    }
}
