@testable import HealthKV

/// Operations of a transaction, each on the store and on the model.
extension ModelRun {
    func operation(_ txn: inout WriteTransaction) throws {
        switch random.number(0..<100) {
        case 0..<38: try save(&txn, [anySample()])
        case 38..<46: try save(&txn, (0..<random.number(0..<6)).map { _ in anySample() })
        case 46..<60: try merge(&txn)
        case 60..<70: try delete(&txn)
        case 70..<75: try deleteBySyncIdentifier(&txn)
        case 75..<79: try deleteGroup(&txn)
        case 79..<84: try deleteRange(&txn)
        case 84..<86: try deleteSource(&txn)
        case 86: try hide(&txn)
        case 87..<89: try overlay(&txn)
        case 89: try removeOverlay(&txn)
        default: try importBatch(&txn)
        }
    }

    /// What the next local change is stamped with, as far as the model can tell: some time after the last.
    var soon: ChangeClock { ChangeClock(time: max(model.lastClock + 1, clock.now), replica: model.replica) }

    // MARK: Saving

    /// A new sample, or one that the store knows in one way or another.
    ///
    /// - Parameter isRenamed: whether it may have the id of a known sample, and another type, source or sync
    ///   identifier. Such edits are refused; only records of another writer may do this.
    func anySample(isRenamed: Bool = false) -> Sample {
        var sample = pool.fresh(&random)
        guard random.chance(0.5), let known = anyKnown() else { return withoutCollision(sample) }
        switch random.number(0..<10) {
        case 0..<2:  // the same content again
            sample = known
            sample.version = random.pick([0, known.version])
        case 2..<5:  // an edit
            sample = known
            sample.version = random.pick([0, 0, known.version, known.version + 1, known.version + 40])
            sample.quantity.value = pool.value(&random)
            if random.chance(0.2) { sample.group = random.pick(pool.groups + [nil]) }
            if random.chance(0.2) { sample.metadata = pool.metadata(&random) }
            if random.chance(0.2) { sample.note = random.pick([nil, "edited"]) }
            if random.chance(0.2), sample.workout != nil { sample.workout = RandomWorkout.make(&random) }
            if random.chance(0.2), sample.route != nil { sample.route = RandomRoute.make(&random) }
            if random.chance(0.2) { sample.original = nil }
        case 5:  // an older version
            sample = known
            sample.quantity.value = pool.value(&random)
            sample.version = max(0, known.version - Int64(random.number(0..<3)))
        case 6:  // another place in time
            sample = known
            (sample.start, sample.end) = pool.times(&random)
            sample.version = 0
        case 7:  // everything else
            sample.id = known.id
            sample.version = random.pick([0, known.version + 2])
            if !isRenamed {
                (sample.type, sample.source) = (known.type, known.source)
                sample.quantity.unit = known.quantity.unit
                sample.syncIdentifier = random.pick([nil, known.syncIdentifier])
            }
        case 8:  // another id with the same sync identifier, which may be the text of an id
            sample.type = known.type
            sample.quantity.unit = known.quantity.unit
            sample.source = known.source
            sample.syncIdentifier = known.syncIdentifier
            sample.version = random.pick([0, known.version, known.version + 1])
        default:
            sample = known
            sample.isUserEntered.toggle()
            sample.syncIdentifier = random.pick([nil, known.syncIdentifier])
            if isRenamed {
                sample.source = pool.source(&random)
                sample.syncIdentifier = random.pick([sample.syncIdentifier, random.pick(pool.syncIdentifiers)])
            }
            sample.version = 0
        }
        sample.modified = nil
        return withoutCollision(pool.fit(sample, &random), isRenamed: isRenamed)
    }

    /// A live sample, or what is known of a deleted one.
    private func anyKnown() -> Sample? {
        if random.chance(0.7) { return anyLive() }
        let ids = model.gravesByID.keys.sorted()
        guard !ids.isEmpty, let grave = model.gravesByID[random.pick(ids)] else { return anyLive() }
        var sample = pool.fresh(&random)
        sample.type = grave.type
        sample.quantity.unit = pool.unit(grave.type, &random)
        // With its own product: rank belongs to the source, and the model tells it from the sample.
        sample.source = pool.sources.first { $0.identity == grave.source } ?? sample.source
        sample.id = grave.id
        sample.syncIdentifier = grave.syncIdentifier
        // No sample can have the version of a hidden one, or a greater one.
        sample.version = grave.version == Sample.versionLimit ? 1 : grave.version
        return sample
    }

    func anyLive() -> Sample? {
        let ids = model.live.keys.sorted()
        return ids.isEmpty ? nil : model.live[random.pick(ids)]
    }

    /// No operation asks for two live samples with one sync identifier of a type and source: what stores show that
    /// made them apart is not defined. None changes by what a sample is recognised, unless it is to: such edits are
    /// refused (`SaveTests`).
    func withoutCollision(_ sample: Sample, in model: ReferenceModel? = nil, isRenamed: Bool = false) -> Sample {
        let model = model ?? self.model
        var sample = sample
        if !isRenamed, model.changesIdentity(resolved(sample)) {
            sample = pool.fresh(&random)
            (sample.syncIdentifier, sample.modified) = (nil, nil)
            return sample
        }
        guard let held = model.held(resolved(sample)) else { return sample }
        var after = resolved(sample)
        after.id = held.id
        after.origin = held.origin
        for keepsIdentifier in [true, false] {
            after.syncIdentifier = sample.syncIdentifier ?? (keepsIdentifier ? held.syncIdentifier : nil)
            let key = ReferenceModel.syncKey(of: after)
            if key != nil,
                model.live.values.contains(where: { $0.id != held.id && ReferenceModel.syncKey(of: $0) == key })
            {
                sample = pool.fresh(&random)
                sample.syncIdentifier = nil
                sample.modified = nil
                return sample
            }
        }
        return sample
    }

    private func resolved(_ sample: Sample) -> Sample {
        var sample = sample
        if sample.source == .thisApp { sample.source = model.ownSource }
        return sample
    }

    func save(_ txn: inout WriteTransaction, _ samples: [Sample]) throws {
        let isSingle = samples.count == 1 && random.chance(0.7)
        let untouched = model
        let before = model.lastClock
        var expected: [SaveOutcome] = []
        var changed: [SampleID] = []
        for (index, sample) in samples.enumerated() {
            // An earlier one of the list may have made it meet another.
            if index > 0, withoutCollision(sample).id != sample.id {
                model = untouched
                return
            }
            let (outcome, id) = model.save(sample, .local, clock: soon, now: clock.now)
            expected.append(outcome)
            if outcome == .inserted || outcome == .replaced { changed.append(id) }
        }
        let outcomes = isSingle ? [try txn.save(samples[0])] : try txn.save(samples)
        for (sample, outcome) in zip(samples, outcomes) { note("save \(brief(sample)): \(outcome)") }
        try expect(outcomes == expected, "outcomes of save: \(outcomes), not \(expected)")
        try adopt(txn, changed, after: before)
    }

    /// A record of another store, with a version and a clock of its own.
    private func merge(_ txn: inout WriteTransaction) throws {
        var sample = anySample(isRenamed: random.chance(0.3))
        sample.version = max(1, sample.version)
        if let known = model.live[sample.id], random.chance(0.4) { sample.version = known.version }
        sample.modified = random.chance(0.15) ? nil : anyClock(of: model.live[sample.id]?.modified)
        let before = model.lastClock
        let (expected, id) = model.save(sample, .merge, clock: soon, now: clock.now)
        let outcome = try txn.merge(sample)
        note("merge \(brief(sample)) \(sample.modified.map { "\($0.time.nanoseconds)" } ?? "-"): \(outcome)")
        try expect(outcome == expected, "outcome of merge: \(outcome), not \(expected)")
        if sample.modified == nil, outcome == .inserted || outcome == .replaced { try adopt(txn, [id], after: before) }
    }

    /// Long past, about now, ahead within a day, far ahead.
    private func anyClock(of held: ChangeClock?) -> ChangeClock {
        let hour = 3_600 * Instant.nanosecondsPerSecond
        let distance = random.pick([-240 * hour, -hour, -1, 0, 1, 5, hour, 20 * hour, 30 * hour, 9_000 * hour])
        let replica = random.pick([0, 1, 2, model.replica])
        if let held, random.chance(0.4) {
            return ChangeClock(time: held.time, replica: random.pick([held.replica, replica]))
        }
        return ChangeClock(time: model.lastClock + distance, replica: replica)
    }

    /// Takes the clocks over that the store gave to local changes: they must be later than all it has seen before.
    func adopt(_ txn: borrowing WriteTransaction, _ ids: [SampleID], after before: Instant) throws {
        func adopt(_ expected: inout ChangeClock?, _ stored: ChangeClock?, of id: SampleID) throws {
            // An import and what lies over it have clocks of their own, and only one of them was changed. What is far
            // ahead was brought.
            let limit = max(before, clock.now + 86_400 * Instant.nanosecondsPerSecond) + 1_000
            guard let made = expected, made.replica == model.replica, made.time > before, made.time <= limit else {
                return
            }
            guard let stored else { throw Mismatch("a local change of \(id) has no clock") }
            try expect(stored.replica == model.replica, "a local change has the clock of another replica")
            try expect(stored.time > before, "a local change of \(id) is stamped \(stored), before \(before)")
            expected = stored
            model.lastClock = max(model.lastClock, stored.time)
        }
        for id in Set(ids) {
            guard let stored = try txn.sample(id: id) else { throw Mismatch("\(id) was saved and is not there") }
            var sample = model.live[id]!
            try adopt(&sample.modified, stored.modified, of: id)
            var beneath = sample.original?.modified
            try adopt(&beneath, stored.original?.modified, of: id)
            sample.original?.modified = beneath
            var taken = sample.reversion?.modified
            try adopt(&taken, stored.reversion?.modified, of: id)
            if let taken { sample.reversion?.modified = taken }
            model.live[id] = sample
        }
    }

    // MARK: Deleting

    private func delete(_ txn: inout WriteTransaction) throws {
        let dead = model.gravesByID.keys.sorted()
        let id = random.chance(0.8) ? anyLive()?.id : dead.isEmpty ? nil : random.pick(dead)
        let target = id ?? SampleID(using: &random)
        let sample = model.live[target]
        let isDeleted = try txn.delete(id: target)
        note("delete \(target): \(isDeleted)")
        try expect(isDeleted == (sample != nil), "delete answered \(isDeleted)")
        try buryDeleted(txn, model.withRoutes(sample.map { [$0] } ?? []))
    }

    private func deleteBySyncIdentifier(_ txn: inout WriteTransaction) throws {
        let known = anyLive()
        let text = random.chance(0.6) ? known?.syncIdentifier ?? "none" : random.pick(pool.syncIdentifiers)
        let type = random.chance(0.8) ? known?.type ?? .bodyMass : random.pick(pool.types)
        let source = random.chance(0.8) ? known?.source ?? pool.sources[0] : random.pick(pool.sources)
        let key = ReferenceModel.SyncKey(type: type, source: source.identity, identifier: text)
        let samples = model.live.values.filter { ReferenceModel.syncKey(of: $0) == key }
        let isDeleted = try txn.delete(.syncIdentifier(text, of: type, source: source.identity)) > 0
        note("delete by sync identifier \(text.prefix(40)) of \(type), \(source.name): \(isDeleted)")
        try expect(isDeleted == !samples.isEmpty, "delete by sync identifier answered \(isDeleted)")
        try buryDeleted(txn, model.withRoutes(samples))
    }

    private func deleteGroup(_ txn: inout WriteTransaction) throws {
        let group = random.pick(pool.groups + ["none"])
        let samples = model.withRoutes(model.live.values.filter { $0.group == group })
        let count = try txn.delete(.group(group))
        note("delete group \(group): \(count)")
        try expect(count == samples.count, "deleteGroup answered \(count), not \(samples.count)")
        try buryDeleted(txn, samples)
    }

    /// C7: what was imported and deleted here is hidden.
    private func buryDeleted(_ txn: borrowing WriteTransaction, _ samples: [Sample]) throws {
        try bury(txn, samples.map(ReferenceModel.asDeleted))
    }

    /// Each deletion has a clock of its own, and one behind that of what it deletes, which a wrong clock may have
    /// stamped.
    func bury(_ txn: borrowing WriteTransaction, _ samples: [Sample]) throws {
        let before = model.lastClock
        var clocks: Set<ChangeClock> = []
        for sample in samples {
            guard let deleted = try txn.deletedSample(id: sample.id) else {
                throw Mismatch("\(sample.id) left no tombstone")
            }
            try expect(deleted.modified.time > before, "a deletion is stamped earlier than what was read before")
            let held = [sample.modified, sample.original?.modified, sample.reversion?.modified].compactMap(\.self).max()
            try expect(
                deleted.modified > held ?? ChangeClock(time: .distantPast, replica: 0),
                "a deletion is stamped earlier than what it deletes")
            let isOwn = deleted.modified.time.nanoseconds <= txn.state.header.clock
            if isOwn { try expect(clocks.insert(deleted.modified).inserted, "two deletions have one clock") }
            model.bury(sample, clock: deleted.modified, now: clock.now)
        }
        if !samples.isEmpty { model.lastClock = max(before, Instant(nanoseconds: txn.state.header.clock)) }
    }

    private func deleteRange(_ txn: inout WriteTransaction) throws {
        let (type, bounds) = (random.pick(pool.types), range())
        let samples = model.live.values.filter {
            $0.type == type && $0.start >= bounds.from && $0.start < bounds.to
        }
        let count = try txn.delete(.range(of: type, from: bounds.from, to: bounds.to))
        note("delete \(type) from \(bounds.from.nanoseconds) to \(bounds.to.nanoseconds): \(count)")
        try remove(txn, samples, count: count, leavingTombstones: true)
    }

    private func deleteSource(_ txn: inout WriteTransaction) throws {
        let source = random.pick(pool.sources).identity
        let samples = model.live.values.filter { $0.source.identity == source }
        let leavesTombstones = random.chance(0.5)
        let count = leavesTombstones ? try txn.delete(.source(source)) : try txn.purge(.source(source))
        note("\(leavesTombstones ? "delete" : "purge") source \(source.name): \(count)")
        try remove(txn, samples, count: count, leavingTombstones: leavesTombstones)
    }

    /// A mass operation happens at one time, however long its steps take, but for what a clock stamped that is ahead.
    private func remove(
        _ txn: borrowing WriteTransaction, _ samples: [Sample], count: Int, leavingTombstones: Bool
    ) throws {
        try expect(count == samples.count, "a mass operation answered \(count), not \(samples.count)")
        guard count > 0 else { return }
        let time = Instant(nanoseconds: txn.state.header.clock)
        try expect(time > model.lastClock, "a mass operation is stamped earlier than what was read before")
        model.lastClock = time
        for sample in samples {
            if leavingTombstones {
                // Behind what it deletes, and behind that as a database of health gave it back, a nanosecond older.
                let covered = sample.modified.map { $0.time + 2 } ?? time
                let clock = ChangeClock(time: max(time, covered), replica: model.replica)
                model.bury(ReferenceModel.asDeleted(sample), clock: clock, now: self.clock.now)
            } else {
                model.live[sample.id] = nil
            }
        }
    }

    func brief(_ sample: Sample) -> String {
        let end =
            sample.isOpenEnded ? "open" : "\((sample.end.nanoseconds - sample.start.nanoseconds) / 1_000_000_000)s"
        let sync = sample.syncIdentifier.map { " sync \($0.prefix(40))" } ?? ""
        return "\(sample.id) \(sample.type) \(sample.start.nanoseconds)+\(end) \(sample.source.name) "
            + "v\(sample.version) \(sample.origin)\(sync)\(sample.group.map { " group \($0)" } ?? "")"
    }

    func expect(_ holds: Bool, _ what: @autoclosure () -> String) throws {
        if !holds { throw Mismatch(what()) }
    }
}
