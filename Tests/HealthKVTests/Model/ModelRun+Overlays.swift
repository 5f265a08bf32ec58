@testable import HealthKV

/// Editing and hiding what was imported (SEMANTICS C7).
extension ModelRun {
    private func anyImported() -> Sample? {
        let ids = model.live.keys.sorted().filter { model.live[$0]!.origin == .imported }
        return ids.isEmpty ? nil : model.live[random.pick(ids)]
    }

    func overlay(_ txn: inout WriteTransaction) throws {
        guard let held = anyImported() else { return }
        var edited = held
        edited.quantity.value = pool.value(&random)
        if random.chance(0.3) { (edited.start, edited.end) = pool.times(&random) }
        if random.chance(0.3) { edited.note = "edited" }
        edited = pool.fit(edited, &random)
        edited.original = held.original ?? Sample.Original(of: held)
        (edited.version, edited.modified) = (0, nil)
        let before = model.lastClock
        // An edit that changes nothing lays nothing over the import.
        let changesNothing =
            (edited.start, edited.end) == (held.start, held.end) && edited.quantity.unit == held.quantity.unit
            && edited.quantity.value.bitPattern == held.quantity.value.bitPattern && edited.local == held.local
        let (expected, id) =
            changesNothing ? (.unchanged, held.id) : model.save(edited, .local, clock: soon, now: clock.now)
        let laid = edited
        let outcome = try txn.overlay(id: held.id) { sample in
            (sample.start, sample.end, sample.quantity, sample.local) = (
                laid.start, laid.end, laid.quantity, laid.local
            )
        }
        note("overlay \(brief(held)): \(String(describing: outcome))")
        try expect(outcome == expected, "overlay answered \(String(describing: outcome)), not \(expected)")
        if expected == .replaced { try adopt(txn, [id], after: before) }
    }

    func removeOverlay(_ txn: inout WriteTransaction) throws {
        guard let held = anyImported() else { return }
        let isRemoved = try txn.removeOverlay(id: held.id)
        note("remove overlay \(brief(held)): \(isRemoved)")
        try expect(isRemoved == (held.original != nil), "removeOverlay answered \(isRemoved)")
        guard let original = held.original else { return }
        let before = model.lastClock
        var sample = held.shared
        sample.local = held.local
        sample.reversion = Sample.Reversion(version: max(held.version, original.version) + 1, modified: soon)
        // Of an import that brought no clock nobody knows when it came.
        sample.modified = sample.modified ?? soon
        model.live[held.id] = sample
        try adopt(txn, [held.id], after: before)
    }

    func hide(_ txn: inout WriteTransaction) throws {
        guard var held = anyImported() else { return }
        try expect(try txn.hide(id: held.id), "an imported sample was not hidden")
        note("hide \(brief(held))")
        let routes = model.withRoutes([held]).dropFirst().map(ReferenceModel.asDeleted)
        held.version = Sample.versionLimit
        try bury(txn, [held] + routes)
    }
}
