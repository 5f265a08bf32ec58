import Foundation
import HealthKVSync
import Histories

/// Works of the sync engine, between this store and a simulated Apple Health.
extension Session {
    /// Ten years of three types, as a person has.
    private static let usualImport = 3_000_000

    func measureSync() throws {
        // The histories are of profile `plain` in any case, so another profile would repeat the same measurement.
        guard settings.profile == .plain else { return }
        if wants(.syncImportYear) {
            try measureYear(isOwn: false)
            try measureYear(isOwn: true)
        }
        let few = min(Session.usualImport, settings.samples)
        if wants(.syncImport) || wants(.syncPushLatency) || (wants(.pulled) && few == settings.samples) {
            try measurePull(few)
        }
        if wants(.pulled), few < settings.samples { try measurePull(settings.samples) }
        if wants(.syncDeletions) { try measureDeletions() }
        if wants(.pulled) { try measureLinks() }
        if wants(.status) { try measureStatus() }
    }

    /// The number of pending operations during the measurement of the status.
    private static let waiting = 50_000

    /// The status of a sync with very many pending operations, which apps query at each commit.
    private func measureStatus() throws {
        note(Work.status.rawValue)
        let path = folder + "/waiting"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let phone = try SimulatedPhone()
        let store = try phone.openStore(path)
        let engine = phone.engine(store, [.bodyMass: TypePlan(.both), .stepCount: TypePlan(.both)])
        try blocking { try await engine.enable(SimulatedPhone.peer) }
        try store.write { txn in
            for index in 0..<Session.waiting {
                var operation = PendingOperation(
                    peer: SimulatedPhone.peer, kind: .save, sample: SampleID(), version: 1)
                if index % 2 == 0 { (operation.state, operation.reason) = (.parked, "unauthorized") }
                try txn.enqueue(operation, of: index % 3 == 0 ? .bodyMass : .stepCount)
            }
        }
        var latencies = Latencies()
        for _ in 0..<1_000 {
            let start = Stopwatch.now()
            let status = try engine.status()
            latencies.add(Stopwatch.now() - start)
            guard status.pending + status.parked == Session.waiting else {
                throw BenchFailure("status does not count what waits")
            }
        }
        try store.close()
        try send(Work.status.rawValue, latencies)
    }

    /// Pulls a history from a simulated Apple Health into an empty store.
    ///
    /// The simulator holds the history in memory. The memory in use before the pull is subtracted.
    private func measurePull(_ samples: Int) throws {
        let history = History(.plain, samples: samples, seed: settings.seed)
        let path = folder + "/pulled"
        defer { try? FileManager.default.removeItem(atPath: path) }
        note("filling the simulated Apple Health with \(Format.count(samples)) samples")
        let phone = try SimulatedPhone()
        try phone.fill(with: history)
        note(Work.syncImport.rawValue)
        let store = try phone.openStore(path)
        var plan = Dictionary(uniqueKeysWithValues: history.types.map { ($0, TypePlan(.pull)) })
        plan[.bodyMass] = TypePlan(.both)
        let engine = phone.engine(store, plan)
        try blocking { try await engine.authorize(SimulatedPhone.peer) }
        MallocSetting.giveBack()
        let before = PrivateMemory.now(of: getpid())
        let watch = PrivateMemory(of: getpid())
        let worked = ProcessorTime.ofProcess()
        let (seconds, tenth) = try pull(engine, store, samples, watch)
        let processor = ProcessorTime.ofProcess() - worked - watch.processorTime
        let memory = watch.stop().anonymous - before
        guard try store.blockingRead({ try $0.count() }) == samples else {
            throw BenchFailure("sync_import did not bring every sample once")
        }
        if wants(.syncImport), samples <= Session.usualImport {
            try send(Work.syncImport.rawValue, Double(samples) / seconds, .perSecond) { $0.privateBytes = memory }
            let alone = try blocking { try await phone.answer(history.types) }
            let apart = Double(samples) * 1e9 / Double(max(processor, alone + 1) - alone)
            try send(Work.syncImport.rawValue + ".apart", apart, .perSecond)
            try send(Work.syncImport.rawValue + ".tenth", Double(samples / 10) / tenth.seconds, .perSecond) {
                $0.privateBytes = tenth.peak - before
            }
        }
        if wants(.pulled), samples == settings.samples { try compareBytes(store, history, path) }
        if wants(.syncPushLatency), samples <= Session.usualImport { try measurePush(phone, engine, store) }
        try store.close()
    }

    /// The seconds until the whole history is imported and nothing is stale, and the seconds and the peak of memory of
    /// its first tenth.
    private func pull(
        _ engine: SyncEngine, _ store: SampleStore, _ samples: Int, _ watch: PrivateMemory
    ) throws -> (seconds: Double, tenth: (seconds: Double, peak: Int)) {
        try blocking {
            let from = Stopwatch.now()
            var tenth: (seconds: Double, peak: Int)?
            var done = 0
            for try await progress in engine.importHistory(SimulatedPhone.peer, .all) {
                done += progress.imported
                if tenth == nil, done >= samples / 10 {
                    tenth = (Double(Stopwatch.now() - from) / 1e9, watch.peakSoFar)
                }
            }
            while try store.maintain(budget: .seconds(1)) {}
            let seconds = Double(Stopwatch.now() - from) / 1e9
            return (seconds, tenth ?? (seconds, watch.peakSoFar))
        }
    }

    /// Compares the bytes of a pulled and an imported store, as grown and compacted; both must have the same content.
    private func compareBytes(_ store: SampleStore, _ history: History, _ path: String) throws {
        let other = folder + "/imported"
        defer { try? FileManager.default.removeItem(atPath: other) }
        let imported = try HealthKVStore(folder: other, hasIDs: true)
        for batch in settings.history() { _ = try imported.importBatch(batch) }
        try imported.finishImport()
        let pulled = HealthKVStore(store)
        for type in history.types {
            guard try pulled.foldAll(type) == imported.foldAll(type) else {
                throw BenchFailure("a pulled history differs from the imported one")
            }
        }
        let work = Work.pulled.rawValue
        for (place, contestant, part) in [(path, pulled, ""), (other, imported, ".imported")] {
            try send(work + part, Double(Session.bytes(of: place)) / Double(history.samples), .bytes)
            try send(work + part + ".compacted", compactedBytes(contestant, history.samples), .bytes)
        }
        try imported.close()
    }

    /// The number of deletions that a pull imports: one out of so many samples.
    private static let (deletions, deletedOneOf) = (60_000, 5)

    /// Deletes every fifth sample of a history in Apple Health, and pulls the deletions into the store.
    private func measureDeletions() throws {
        let count = min(Session.deletions, max(100, settings.samples / Session.deletedOneOf))
        let history = History(.plain, samples: count * Session.deletedOneOf, seed: settings.seed)
        let path = folder + "/deleted"
        defer { try? FileManager.default.removeItem(atPath: path) }
        note("\(Work.syncDeletions.rawValue) of \(Format.count(count)) samples")
        let phone = try SimulatedPhone()
        try phone.fill(with: history)
        let store = try phone.openStore(path)
        let engine = phone.engine(
            store, Dictionary(uniqueKeysWithValues: history.types.map { ($0, TypePlan(.pull)) }))
        try blocking { try await engine.authorize(SimulatedPhone.peer) }
        try blocking { try await engine.enable(SimulatedPhone.peer) }
        try syncOnce(engine)
        while try store.maintain(budget: .seconds(1)) {}
        let left = history.samples - phone.deleteOne(of: Session.deletedOneOf, history.types)
        let (worked, from) = (ProcessorTime.ofProcess(), Stopwatch.now())
        try syncOnce(engine)
        let seconds = Double(Stopwatch.now() - from) / 1e9
        let processor = Double(ProcessorTime.ofProcess() - worked) / 1e9
        guard try store.blockingRead({ try $0.count() }) == left else {
            throw BenchFailure("sync_deletions left too much")
        }
        let deleted = Double(history.samples - left)
        try send(Work.syncDeletions.rawValue, deleted / seconds, .perSecond)
        try send(Work.syncDeletions.rawValue + ".processor", deleted / processor, .perSecond)
        try store.close()
    }

    /// The bytes of a link: samples that got a new version from their source, so that Apple Health's id differs from
    /// the store's.
    private func measureLinks() throws {
        let count = min(2_000, max(100, settings.samples / 10))
        let path = folder + "/linked"
        defer { try? FileManager.default.removeItem(atPath: path) }
        note("links of \(Format.count(count)) samples")
        let phone = try SimulatedPhone()
        let scale = phone.install("app.example.scale", "Scale")
        let store = try phone.openStore(path)
        let engine = phone.engine(store, [.bodyMass: TypePlan(.pull)])
        try blocking { try await engine.authorize(SimulatedPhone.peer) }
        try blocking { try await engine.enable(SimulatedPhone.peer) }
        var bytes: [Double] = []
        for version in 1...2 {
            try phone.weigh(count, version: version, by: scale)
            try syncOnce(engine)
            while try store.maintain(budget: .seconds(1)) {}
            bytes.append(try compactedBytes(HealthKVStore(store), count))
        }
        guard try store.blockingRead({ try $0.count() }) == count else { throw BenchFailure("a link lost its sample") }
        try send(Work.pulled.rawValue + ".link", bytes[1] - bytes[0], .bytes)
        try store.close()
    }

    /// A first import of 365 daily weights into an empty store, starting with the authorization request.
    private func measureYear(isOwn: Bool) throws {
        let work = Work.syncImportYear.rawValue + (isOwn ? ".own" : "")
        note(work)
        var latencies = Latencies()
        for _ in 0..<20 where latencies.seconds < settings.budget {
            let path = folder + "/year"
            defer { try? FileManager.default.removeItem(atPath: path) }
            let phone = try SimulatedPhone()
            let writer = isOwn ? phone.app : phone.install("app.example.scale", "Scale")
            try phone.weigh(365, version: 1, by: writer, isSynced: isOwn)
            let store = try phone.openStore(path)
            let engine = phone.engine(store, [.bodyMass: TypePlan(.both)])
            let from = Stopwatch.now()
            try blocking {
                try await engine.authorize(SimulatedPhone.peer)
                try await engine.enable(SimulatedPhone.peer)
            }
            try syncOnce(engine)
            latencies.add(Stopwatch.now() - from)
            guard try store.blockingRead({ try $0.count() }) == 365 else {
                throw BenchFailure("\(work): samples are missing")
            }
            try store.close()
        }
        try send(work, latencies)
    }

    private func syncOnce(_ engine: SyncEngine) throws {
        let report = try blocking { try await engine.sync()[SimulatedPhone.peer] }
        guard let report else { throw BenchFailure("the engine has no such peer") }
        if let issue = report.issue { throw issue }
    }

    /// The time from the commit of an entry until Apple Health has it, while the engine runs as in an app.
    ///
    /// Entries may be committed while the engine still records the result of the previous one and reads it back. They
    /// alternate with the baseline of durable writes, because an entry needs two commits: its own, which is not
    /// measured, and the one that marks it as sent, which is.
    private func measurePush(_ phone: SimulatedPhone, _ engine: SyncEngine, _ store: SampleStore) throws {
        note(Work.syncPushLatency.rawValue)
        let witness = try blocking { try await Witness(on: phone) }
        let baseline = try TwoPuts(folder: folder + "/push-baseline", bytes: 20_000_000, seed: settings.seed)
        engine.start()
        var random = SplitMix64(seed: settings.seed, stream: 71)
        var (latencies, puts) = (Latencies(), Latencies())
        let wanted = max(20, settings.writes / 20)
        for index in 0..<wanted where latencies.count < 20 || latencies.seconds < settings.budget {
            let start = Stopwatch.now()
            try baseline.write()
            puts.add(Stopwatch.now() - start)
            usleep(UInt32(random.whole(1_000...40_000)))
            witness.forget()
            let entry = Sample(.bodyMass, 70 + Double(index % 100) / 10, .kilogram, at: phone.now)
            try store.write { txn in _ = try txn.save(entry) }
            let committed = Stopwatch.now()
            guard let arrived = witness.wait() else {
                throw BenchFailure("sync_push_latency: an entry did not arrive in ten seconds")
            }
            latencies.add(arrived > committed ? arrived - committed : 0)
        }
        try blocking { await engine.stop() }
        let held = phone.device.contents(of: SampleType.bodyMass.identifier).count
        guard held == latencies.count else { throw BenchFailure("sync_push_latency: Apple Health lacks entries") }
        try baseline.close()
        try send(Work.syncPushLatency.rawValue, latencies)
        try send(Work.syncPushLatency.rawValue, puts, contestant: TwoPuts.name)
    }
}
