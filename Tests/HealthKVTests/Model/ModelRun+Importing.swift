@testable import HealthKV

/// Bulk import: rows with ids and without, known, deleted, twice in one batch, with rare fields.
extension ModelRun {
    func importBatch(_ txn: inout WriteTransaction) throws {
        let batch = anyBatch()
        let before = model.lastClock
        var expected = ImportReport()
        let changed = importIntoModel(batch, &expected)
        let report = try txn.importBatch(batch)
        note("import \(batch.count) rows\(batch.derivesIDs ? ", derived" : ""): \(report)")
        if report != expected { throw Mismatch("import: \(report), not \(expected)\n" + (try differences(txn, batch))) }
        try adopt(txn, changed, after: before)
    }

    /// Which rows the store holds otherwise than the model.
    private func differences(_ txn: borrowing WriteTransaction, _ batch: SampleBatch) throws -> String {
        var lines: [String] = []
        for row in 0..<batch.count {
            let sample = rowAsSample(batch, row)
            let (found, expected) = (try txn.sample(id: sample.id), model.live[sample.id])
            func bytes(_ sample: Sample?) -> [UInt8]? { sample.map { ReferenceModel.bytes($0) } }
            guard bytes(found) != bytes(expected) || found?.version != expected?.version else { continue }
            lines.append("  row \(row) \(brief(sample))")
            lines.append("    store: \(found.map(brief) ?? "-")\n    model: \(expected.map(brief) ?? "-")")
            lines.append("    clocks: \(sample.modified as Any) \(found?.modified as Any) \(expected?.modified as Any)")
        }
        return lines.joined(separator: "\n")
    }

    /// The same by the store's own door, with a job.
    func writeWholeBatch() throws {
        let batch = anyBatch()
        var expected = ImportReport()
        let before = model.lastClock
        let changed = importIntoModel(batch, &expected)
        let report = try store.importBatch(batch, job: "job")
        note("importBatch \(batch.count) rows\(batch.derivesIDs ? ", derived" : ""): \(report)")
        try expect(report == expected, "importBatch: \(report), not \(expected)")
        try group([{ run, txn in try run.adopt(txn, changed, after: before) }])
    }

    /// Row after row by the rules of saving. Answers which ids the store stamped.
    private func importIntoModel(_ batch: SampleBatch, _ report: inout ImportReport) -> [SampleID] {
        var changed: [SampleID] = []
        for row in 0..<batch.count {
            let sample = rowAsSample(batch, row)
            let rule: ReferenceModel.Rule = sample.modified == nil ? .local : .merge
            // Content without an identity of its own cannot say that a sample which was edited since is to be as
            // before.
            if batch.derivesIDs, rule == .local, model.live[sample.id] != nil {
                report.unchanged += 1
                continue
            }
            let (outcome, id) = model.save(sample, rule, clock: soon, now: clock.now)
            switch outcome {
            case .inserted: report.inserted += 1
            case .replaced: report.replaced += 1
            case .unchanged: report.unchanged += 1
            case .older: report.older += 1
            case .vetoed: report.vetoed += 1
            }
            if rule == .local, outcome == .inserted || outcome == .replaced { changed.append(id) }
            // A later row may have brought a clock of its own for the same sample; of an import with an edit it brings
            // one of two.
            let isOverlaid = model.live[id].map { $0.original != nil || $0.reversion != nil } ?? false
            if rule == .merge, outcome == .inserted || outcome == .replaced, !isOverlaid {
                changed.removeAll { $0 == id }
            }
        }
        return changed
    }

    /// A row with the id that it gets: identical rows without ids are numbered in their order.
    private func rowAsSample(_ batch: SampleBatch, _ row: Int) -> Sample {
        var sample = batch.sample(at: row)
        guard batch.derivesIDs else { return sample }
        let twins = (0..<row).count { batch.sample(at: $0).id == sample.id }
        if twins > 0 {
            sample.multiplicity += twins
            let source = sample.source == .thisApp ? model.ownSource : sample.source
            sample.id = DerivedID.id(
                DerivedID.Prefix(type: sample.type, source: source.identity), start: sample.start.nanoseconds,
                end: sample.end.nanoseconds,
                value: DerivedID.canonical(sample.quantity.value, sample.quantity.unit, of: sample.type),
                multiplicity: sample.multiplicity)
        }
        return sample
    }

    private func anyBatch() -> SampleBatch {
        if random.chance(0.2), !exports.isEmpty {
            let batch = random.pick(exports)
            return collides(batch) ? SampleBatch() : batch
        }
        let rows = random.pick([1, 3, random.number(0..<12), random.number(0..<30), random.number(30..<90)])
        guard random.chance(0.4) else { return identifiedBatch(rows) }
        let batch = derivedBatch(rows)
        if collides(batch) { return SampleBatch() }
        if batch.count > 0 { exports.append(batch) }
        return batch
    }

    /// Whether a row would give a live sample the sync identifier of another.
    private func collides(_ batch: SampleBatch) -> Bool {
        var trial = model
        for row in 0..<batch.count {
            let sample = rowAsSample(batch, row)
            if withoutCollision(sample, in: trial).id != sample.id { return true }
            _ = trial.save(sample, .local, clock: soon, now: clock.now)
        }
        return false
    }

    /// Samples with ids; some are known, some stand twice in the batch.
    private func identifiedBatch(_ rows: Int) -> SampleBatch {
        var batch = SampleBatch()
        var trial = model
        var samples: [Sample] = []
        for _ in 0..<rows {
            var sample = random.chance(0.75) ? pool.fresh(&random) : anySample()
            if random.chance(0.08), let earlier = samples.randomElement(using: &random) {
                sample = earlier
                if random.chance(0.5) { sample.quantity.value = pool.value(&random) }
                sample = pool.fit(sample, &random)
                if random.chance(0.3) { sample.version = sample.version + 1 }
            }
            sample.modified = random.chance(0.2) ? farClock() : nil
            sample = withoutCollision(sample, in: trial)
            _ = trial.save(sample, sample.modified == nil ? .local : .merge, clock: soon, now: clock.now)
            samples.append(sample)
            batch.append(sample)
        }
        return batch
    }

    /// Rows of an export: identity follows from content.
    private func derivedBatch(_ rows: Int) -> SampleBatch {
        var batch = SampleBatch()
        let origin: Sample.Origin = random.chance(0.8) ? .imported : .authored
        let givesMultiplicity = random.chance(0.2)
        var seen: [SampleID: Int] = [:]
        for _ in 0..<rows {
            let sample = pool.fresh(&random)
            let number = batch.kind(
                sample.type, sample.quantity.unit, source: pool.sources[random.number(0..<3)], origin: origin,
                isUserEntered: sample.isUserEntered)
            // A few contents only, so that twins occur.
            let twins = random.chance(0.3)
            let start =
                twins ? Instant(nanoseconds: pool.base + Int64(random.number(0..<4)) * 60_000_000_000) : sample.start
            batch.append(
                kind: number, start: start, end: twins ? start : sample.end, value: twins ? 1 : sample.quantity.value)
            let row = batch.count - 1
            var extras = SampleBatch.Extras()
            if random.chance(0.12) { extras.metadata = pool.metadata(&random) }
            if random.chance(0.08) { extras.group = random.pick(pool.groups) }
            if random.chance(0.08) { extras.device = sample.device }
            (extras.timeZone, extras.local) = (sample.timeZone, sample.local)
            (extras.workout, extras.route) = (sample.workout, sample.route)
            if givesMultiplicity {
                extras.multiplicity = seen[batch.sample(at: row).id, default: 0]
                seen[batch.sample(at: row).id, default: 0] += 1
            }
            batch.setExtras(extras, row: row)
        }
        return batch
    }

    /// A clock that is certainly before or behind every local one, so that the order of rows with and without does not
    /// depend on when exactly the store stamps.
    private func farClock() -> ChangeClock {
        let days = random.pick([-30, -2, 3, 90])
        let time = max(model.lastClock, clock.now) + Int64(days * 86_400) * Instant.nanosecondsPerSecond
        return ChangeClock(time: time, replica: random.pick([0, 1, 2, model.replica]))
    }
}
