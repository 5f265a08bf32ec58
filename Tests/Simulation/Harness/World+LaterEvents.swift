import Foundation
import HealthKVSync
import HealthKitSimulator
import TestSupport

/// Additional events of seeds from a million on, drawn from a separate generator.
extension World {
    func stepLater() async throws {
        let site = later.pick(sites)
        switch later.number(0..<100) {
        case 0..<12: meetBadPeer(site)
        case 12..<22: try await writeWorkout(site)
        case 22..<32: try await writeMeal(site)
        case 32..<42: try await changeMeal(site)
        case 42..<46: try await deleteMeal(site)
        case 46..<52: userDeletesCompound()
        case 52..<62: try await overlay(site)
        case 62..<70: changeAccessToPart(site)
        case 70..<74: skewByYears(site)
        case 74..<82: breakCalls(site)
        case 82..<85: rename(site)
        case 85..<97: cloudInParts()
        default: rebuild(site)
        }
    }

    // MARK: What users do

    func writeWorkout(_ site: Site) async throws {
        let value = ledger.newValue()
        let start = try Instant(clock.now.addingTimeInterval(-Double(later.number(0..<400_000))))
        var sample = Sample.workout(Workout(.running), from: start, to: start, id: SampleID(using: &later))
        sample.setLedgerValue(value)
        try await write(sample, value, at: site)
        count("workout")
    }

    private func write(_ sample: Sample, _ value: Int, at site: Site) async throws {
        _ = try await site.store.write { try $0.save(sample) }
        note("store\(site.number) writes \(value) of \(sample.type) as \(sample.id)")
        ledger.save(sample.id, value, new: entry(of: sample, at: site), upon: nil)
    }

    private func entry(of sample: Sample, at site: Site) -> Ledger.Entry {
        Ledger.Entry(type: sample.type, start: sample.start, home: parts[site.number])
    }

    func writeMeal(_ site: Site) async throws {
        let group = "meal-\(meals.count)"
        let start = try Instant(clock.now.addingTimeInterval(-Double(later.number(0..<400_000))))
        let samples = Site.nutrients.prefix(later.number(2..<4)).map { type in
            Sample(type, Double(ledger.newValue()), .gram, at: start, id: SampleID(using: &later))
        }
        _ = try await site.store.write { try $0.save(group: group, samples) }
        note("store\(site.number) writes \(group): \(samples.map { "\($0.ledgerValue) as \($0.id)" })")
        for sample in samples {
            ledger.save(sample.id, sample.ledgerValue, new: entry(of: sample, at: site), upon: nil)
        }
        meals.append((group, samples.map(\.id)))
        count("meal")
    }

    /// The change of one sample of a meal.
    private struct Change: Sendable {
        let id: SampleID
        let before: Int
        /// `nil` for a deletion.
        let value: Int?
        var deletion: DeletedSample?
    }

    /// Saves a meal again with other amounts, and sometimes without one of its nutrients.
    func changeMeal(_ site: Site) async throws {
        guard let group = pickMeal(at: site) else { return }
        let values = Site.nutrients.map { _ in later.chance(percent: 60) ? ledger.newValue() : nil }
        let dropped = later.pick([nil, nil, nil, 0, 1])
        let changes = try await site.store.write { txn -> [Change] in
            let held = try txn.samples(group: group).sorted { $0.id < $1.id }
            guard !held.isEmpty else { return [] }
            var (wanted, changes): ([Sample], [Change]) = ([], [])
            for (index, var sample) in held.enumerated() {
                let before = sample.ledgerValue
                if index == dropped, held.count > 1 {
                    changes.append(Change(id: sample.id, before: before, value: nil))
                    continue
                }
                if let value = values[index % values.count] {
                    sample.setLedgerValue(value)
                    sample.version = 0
                    changes.append(Change(id: sample.id, before: before, value: value))
                }
                wanted.append(sample)
            }
            try txn.save(group: group, wanted)
            for index in changes.indices where changes[index].value == nil {
                changes[index].deletion = try txn.deletedSample(id: changes[index].id)
            }
            return changes
        }
        keep(changes, "store\(site.number) changes \(group)")
        count("change of a meal")
    }

    func deleteMeal(_ site: Site) async throws {
        guard let group = pickMeal(at: site) else { return }
        let changes = try await site.store.write { txn -> [Change] in
            let held = try txn.samples(group: group).sorted { $0.id < $1.id }
            try txn.delete(.group(group))
            return try held.map { sample in
                Change(
                    id: sample.id, before: sample.ledgerValue, value: nil,
                    deletion: try txn.deletedSample(id: sample.id))
            }
        }
        keep(changes, "store\(site.number) deletes \(group)")
        count("deletion of a meal")
    }

    private func pickMeal(at site: Site) -> String? {
        let known = meals.filter { $0.ids.allSatisfy { mayEdit($0, at: site) } }
        return known.isEmpty ? nil : later.pick(known).group
    }

    private func keep(_ changes: [Change], _ what: String) {
        note("\(what): \(changes.map { "\($0.id) \($0.before) to \($0.value.map(String.init) ?? "nothing")" })")
        for change in changes {
            if let value = change.value {
                ledger.save(change.id, value, new: ledger.entries[change.id]!, upon: change.before)
            } else {
                ledger.delete(change.id, value: change.before, by: change.deletion)
                forgetUnseen(change.id)
                forgetInRebuiltElsewhere(change.id)
            }
        }
    }

    /// Deletes a workout, a nutrient or a whole meal in the Health app. Apple leaves open which samples are deleted
    /// with it.
    func userDeletesCompound() {
        let owned = sites.filter { $0.health != nil }
        guard !owned.isEmpty else { return }
        let site = later.pick(owned)
        guard let health = site.health else { return }
        let food = SampleType.food.identifier
        let shown =
            ([.workout] + Site.nutrients).flatMap { health.contents(of: $0.identifier) }
            + health.contents(of: food)
        guard
            let sample = shown.sorted(by: { ($0.start, $0.value) < ($1.start, $1.value) })
                .randomElement(using: &later)
        else { return }
        let began = ContinuousClock.now
        let gone = health.userDeletes(sample.uuid)
        note("the user deletes \(sample.value) in Health \(site.number), with what belongs to it: \(gone.map(\.value))")
        for gone in gone {
            guard let id = gone.syncIdentifier.flatMap({ SampleID($0) }), let type = ledger.entries[id]?.type else {
                continue
            }
            noteDeletion(of: id, gone.ledgerValue(of: type), gone.version, by: health, since: began)
        }
        count("deletion of a compound in Health")
    }

    /// Edits a sample of another app. Only in worlds whose stores are all linked, because the cloud does not carry
    /// overlays.
    func overlay(_ site: Site) async throws {
        guard parts.allSatisfy({ $0 == parts[0] }) else { return }
        let held = try site.store.blockingRead { txn in
            try Site.weights.flatMap { try txn.samples(SampleQuery($0, includeShadowed: true)) }.filter {
                $0.origin == .imported
            }
        }.sorted { $0.id < $1.id }
        guard let sample = held.randomElement(using: &later) else { return }
        let (id, value) = (sample.id, ledger.newValue())
        let (isDone, before) = try await site.store.write { txn -> (Bool, Int?) in
            let before = try txn.sample(id: id).flatMap { $0.original == nil ? nil : $0.ledgerValue }
            return (try txn.overlay(id: id) { $0.quantity.value = Double(value) } != nil, before)
        }
        guard isDone else { return }
        note("store\(site.number) lays \(value) over \(id)")
        overlays.save(id, value, new: entry(of: sample, at: site), upon: before)
        count("overlay")
    }

    /// Marks overlays that may be gone because only a lost store had them.
    func loseOverlays(of site: Site) throws {
        var held: [SampleID: Set<Int>] = [:]
        for other in sites where other !== site {
            for (id, value) in try overlaid(at: other) { if let value { held[id, default: []].insert(value) } }
        }
        overlays.lose(held: held, deleted: [:])
    }

    /// The value of each overlay; `nil` for a sample without one.
    private func overlaid(at site: Site) throws -> [SampleID: Int?] {
        let ids = overlays.ids
        return try site.store.read { txn in
            var values: [SampleID: Int?] = [:]
            for id in ids {
                guard let sample = try txn.sample(id: id) else { continue }
                values.updateValue(sample.original == nil ? nil : sample.ledgerValue, forKey: id)
            }
            return values
        }
    }

    // MARK: What goes wrong

    func meetBadPeer(_ site: Site) {
        let fault = later.pick(WireFault.ofPeers)
        site.wire.plan(fault, after: later.number(0..<3))
        note("store\(site.number) is to meet \(fault)")
    }

    /// Denies or grants access to workouts or one type of a group.
    func changeAccessToPart(_ site: Site) {
        guard let health = site.health, let app = site.app else { return }
        let type = later.pick(Site.nutrients + [.workout])
        let reading: SimulatedDevice.Reading? = later.pick([nil, nil, .denied, .granted])
        let sharing: SimulatedDevice.Sharing? = later.pick([nil, .denied, .denied, .granted])
        if reading == .denied { site.wasBlind = true }
        health.setAccess(of: app, to: type.identifier, reading: reading, sharing: sharing)
        note("access of store\(site.number) to \(type): \(String(describing: reading)), \(String(describing: sharing))")
        count("access to a part")
    }

    /// Sets a clock wrong by years. It is corrected before the judgement: by such a clock, the next comparison may be
    /// years away, and everything else waits for it.
    private func skewByYears(_ site: Site) {
        syncCloud()
        let year = World.year
        // A device whose battery was empty may show 1970.
        let more = seed >= World.firstOfTenth ? [-53 * year] : []
        site.skew.set(later.pick([0, year, -year, 3 * year, -20 * year] + more))
        note("clock of store\(site.number), by years")
        count("clock by years")
    }

    private static let year = 365.0 * 86_400

    /// Sets the clock of a device with a running engine a year wrong, or right again. A clock from before 2025 would
    /// hold back what it left midway for a day, which no run lasts.
    func skewByAYear(_ site: Site) {
        syncCloud()
        site.skew.set(later.pick([0, World.year, -World.year]))
        note("clock of store\(site.number), by a year")
        count("clock by a year")
    }

    func breakCalls(_ site: Site) {
        guard let health = site.health else { return }
        let call = later.pick([SimulatedCall.save, .delete, .changes, .samples])
        let (number, afterEffect) = (later.number(1..<4), later.chance(percent: 50))
        if later.chance(percent: 60) {
            health.interrupt(call, number: number, afterEffect: afterEffect)
            count("interrupted call")
        } else {
            health.hang(call, number: number, afterEffect: afterEffect)
            count("hanging call")
        }
        note("\(call) of HealthKit \(site.number) is to break off")
    }

    /// Renames the app or the watch in HealthKit, as after a change of language.
    func rename(_ site: Site) {
        guard let health = site.health, let app = site.app else { return }
        let name = later.pick(["Weights", "Gewichte", "Poids"])
        if later.chance(percent: 50) {
            health.rename(app, to: name)
        } else {
            let watch = health.install(bundle: "watch", name: name, kind: .watch, product: "Watch7,1")
            health.rename(watch, to: name)
        }
        note("a source of HealthKit \(site.number) is called \(name)")
        count("rename")
    }

    private func cloudInParts() {
        syncCloud(percent: later.pick([20, 50, 80]))
        note("the cloud brings a part")
        count("cloud in parts")
    }

    /// Rebuilds Health's database from its samples: anchors become invalid, and deletions are forgotten.
    func rebuild(_ site: Site) {
        guard let health = site.health else { return }
        // A comparison would treat samples that are still to arrive as deleted.
        syncCloud()
        health.rebuildDatabase()
        (needsComparing, isRebuilt) = (true, true)
        note("the database of HealthKit \(site.number) is rebuilt")
        // The rebuilt database has no deletions, as after a purge.
        count("purge")
        count("rebuilt database")
        forgetUnheardDeletions()
    }

    /// After a rebuild and before a comparison, a deleted sample may look as if it had never been in the database.
    func forgetInRebuilt(_ id: SampleID) { if isRebuilt { ledger.markUnknowable(id) } }

    /// A store that only the cloud connects hears of a deletion in another store as of one in Health.
    func forgetInRebuiltElsewhere(_ id: SampleID) { if Set(parts).count > 1 { forgetInRebuilt(id) } }

    /// Marks the samples of a store that goes back to a state from before their deletion, if a HealthKit was rebuilt
    /// meanwhile: it has no record of the deletion any more, so only another store may still know of it.
    func forgetDeletedInRebuilt(_ values: [SampleID: Int]) {
        for id in values.keys where !sites.contains(where: { $0.holdsInHealth(id) }) {
            let acts = ledger.entries[id]?.acts ?? []
            if acts.contains(where: { $0.kind == .delete }) { ledger.markUnknowable(id) }
        }
    }

    // MARK: What is judged

    /// Describes everything that is wrong with workouts and overlays.
    func findingsInMore() throws -> [String] {
        var found: [String] = []
        for site in sites where meetsMore {
            let workouts = try site.store.read { try $0.samples(SampleQuery(.workout, includeShadowed: true)) }
            for workout in workouts where !(ledger.entries[workout.id]?.isUnknowable ?? true) {
                let wanted = Sample.workoutSeconds(of: workout.ledgerValue)
                if workout.duration == wanted { continue }
                found.append(
                    "\(workout.id): store\(site.number) holds \(workout.duration ?? -1) seconds, not \(wanted)")
            }
            for (id, value) in try overlaid(at: site) {
                let possible = overlays.entries[id]!.possible
                if value.map({ possible.values.contains($0) }) ?? possible.mayBeGone { continue }
                found.append(
                    "\(id): over it lies \(value.map(String.init) ?? "nothing") at store\(site.number), not "
                        + "\(possible.values.sorted())")
            }
        }
        return found
    }
}
