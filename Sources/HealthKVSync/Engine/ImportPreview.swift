import HealthKV

/// Counts what an import has to bring.
struct ImportPreview: SessionJob {
    let core: SessionCore

    /// Returns how many foreign samples a peer shows.
    func count(_ type: SampleType, told: @Sendable (Int) -> Void) async throws -> Int {
        var count = 0
        try await forEachPage(of: type, in: .all) { samples in
            count += samples.count
            told(count)
        }
        return count
    }

    /// Reads outlines of the foreign samples in a window, page by page, each sample once.
    private func forEachPage(
        of type: SampleType, in window: TimeRange, _ body: ([SampleOutline]) async throws -> Void
    ) async throws {
        var (request, last) = (EnumerationRequest(type: type, window: window, limit: options.pageSize), Set<SampleID>())
        repeat {
            try Task.checkCancellation()
            let page = try await peer.outline(request)
            try await body(page.samples.filter { !$0.isOwn && !last.contains($0.idAtPeer) })
            // A sample may appear again on the next page.
            last = page.cursor == nil ? [] : Set(page.samples.map(\.idAtPeer))
            request.cursor = page.cursor
        } while request.cursor != nil
    }

    /// Returns how many samples of each type an import has left to bring, by the last preview; `nil` if the app has not
    /// asked for one.
    func leftOfPreview(_ horizon: TypePlan.Horizon) throws -> [SampleType: Int]? {
        guard horizon == .all, !memory.previewed.isEmpty else { return nil }
        let known = try state()
        return memory.previewed.reduce(into: [:]) { $0[$1.key] = max(0, $1.value - known[$1.key].imported) }
    }

    /// Returns how many samples of each type an import has left to bring; `nil` if that is not known, and if the import
    /// is skipped.
    func leftToImport(_ horizon: TypePlan.Horizon) async throws -> [SampleType: Int]? {
        if let left = try leftOfPreview(horizon) { return left }
        let known = try state()
        guard !peer.keepsRecords else { return nil }
        var left: [SampleType: Int] = [:]
        for type in plan.pulled.sorted() where known[type].history.skipped == nil {
            do {
                left[type] = try await countMissing(type, from: known[type].history.horizon ?? .distantPast)
            } catch let error as PeerError {
                try Task.checkCancellation()
                // Types that the user is asked for at a later stage show nothing yet. What else fails is the pass's to
                // tell.
                if !error.isRefusal { return nil }
            }
        }
        return left.isEmpty ? nil : left
    }

    /// Returns how many foreign samples the peer shows that the store does not hold.
    private func countMissing(_ type: SampleType, from start: Instant) async throws -> Int {
        let name = name
        var count = 0
        try await forEachPage(of: type, in: TimeRange(from: start, to: .distantFuture)) { samples in
            try await holdLease()
            // The peer may have rounded the start of the window.
            let new = samples.filter { $0.start >= start }
            guard let first = new.last?.start, let last = new.first?.start else { return }
            count += try store.blockingRead { txn in
                // Where the store holds nothing of a page's time, all of the page is missing, as in most of a first
                // import. Only a sample that was moved to another time here counts too many.
                let rounding = AnswerLimits.rounding
                let held = SampleQuery(
                    type, from: first - rounding, to: last + rounding, rule: .strictStart, includeShadowed: true)
                if try txn.count(held) == 0 { return new.count }
                return try new.count { outline in
                    let id = try txn.link(peer: name, idAtPeer: outline.idAtPeer)?.sample ?? outline.idAtPeer
                    return try txn.sample(id: id) == nil
                }
            }
        }
        return count
    }
}

/// How far an import has come.
struct ImportProgress: Sendable {
    /// How many samples of each type are left, as far as was counted; `nil` if nothing was.
    var left: [SampleType: Int]?
    private var completed = 0

    /// Returns a step with the progress of the whole import. Of a type whose feed was read to its end nothing is left,
    /// whatever was counted: a sample may be invalid, or held under another name.
    mutating func counting(_ step: SyncProgress) -> SyncProgress {
        completed += step.imported
        if step.isDrained {
            if step.type == .every { left = left?.mapValues { _ in 0 } } else { left?[step.type] = 0 }
        } else if let count = left?[step.type] {
            left?[step.type] = max(0, count - step.imported)
        }
        var step = step
        step.completed = completed
        step.total = left.map { completed + $0.values.reduce(0, +) }
        return step
    }
}

extension SessionJob {
    var preview: ImportPreview { ImportPreview(core: core) }
}
