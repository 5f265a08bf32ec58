import Foundation
import HealthKV
import Histories

extension Session {
    /// Imports the history several times into an empty store; the later works use the last one.
    func measureImport() throws {
        var rates: [Double] = []
        var memory = (anonymous: 0, resident: 0)
        var written = 0
        var spent = 0.0
        let runs = wants(.importing) ? settings.runs : 1
        for run in 1...runs {
            note("import \(run) of \(runs)")
            try closeStore()
            try? FileManager.default.removeItem(atPath: storeFolder)
            try openStore()
            // Measure memory in the first import; later ones would reuse memory that the first returned to malloc.
            let watch = run == 1 ? PrivateMemory(of: store.processID) : nil
            let before = PrivateMemory.written(by: store.processID)
            let (seconds, counts, largest) = try importAll(history, into: store, sizesOf: storeFolder)
            if let watch { memory = watch.stop() }
            try store.settle()
            written = PrivateMemory.written(by: store.processID) - before
            spent += seconds
            guard counts == ImportCounts(inserted: settings.samples), try store.count() == settings.samples else {
                throw BenchFailure("the import did not insert every sample once")
            }
            rates.append(Double(settings.samples) / seconds)
            if run == 1, wants(.bytes) { try send(Work.bytes.rawValue, largest, .bytes) }
            if spent > settings.budget { break }
        }
        guard wants(.importing) else { return }
        try send(Work.importing.rawValue, rates.median, .perSecond, runs: rates) {
            $0.privateBytes = memory.anonymous
            $0.peakBytes = memory.resident
            $0.writtenBytes = Double(written) / Double(settings.samples)
        }
    }

    /// Imports the same history again, which must change nothing. Slow contestants import only its beginning.
    func measureReimport() throws {
        note("reimport")
        let budget = name == .healthKV ? .infinity : settings.budget
        let (seconds, counts, _) = try importAll(history, into: store, sizesOf: storeFolder, budget: budget)
        let done = counts.unchanged
        guard counts == ImportCounts(unchanged: done), try store.count() == settings.samples,
            done == settings.samples || seconds > budget
        else { throw BenchFailure("importing the same history again changed something") }
        try store.settle()
        try send(Work.reimport.rawValue, Double(done) / seconds, .perSecond)
    }

    func measureCompacted() throws {
        note("compact")
        try send(Work.compacted.rawValue, compactedBytes(store), .bytes)
    }

    /// The same history without UUIDs, compacted.
    func measureDerived() throws {
        note("import without UUIDs")
        let folder = folder + "/derived"
        guard let store = try name.open(folder: folder, hasIDs: false) else { return }
        let (_, counts, _) = try importAll(settings.history(hasIDs: false), into: store, sizesOf: folder)
        guard counts == ImportCounts(inserted: settings.samples) else {
            throw BenchFailure("the import without UUIDs did not insert every sample once")
        }
        try send(Work.derived.rawValue, compactedBytes(store), .bytes)
        try store.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    func compactedBytes(_ store: any Contestant, _ samples: Int? = nil) throws -> Double {
        let target = folder + "/compacted"
        try store.compact(to: target)
        defer { try? FileManager.default.removeItem(atPath: target) }
        return try Double(Session.bytes(of: target)) / Double(samples ?? settings.samples)
    }

    /// Imports a history until nothing is stale. Measures the store's work without the generation of the history. Ends
    /// early when the budget is spent.
    ///
    /// `largest` is the maximum of bytes per sample at 12 points between half of the history and all of it.
    private func importAll(
        _ history: History, into store: any Contestant, sizesOf folder: String, budget: Double = .infinity
    ) throws -> (seconds: Double, counts: ImportCounts, largest: Double) {
        var (seconds, largest, done) = (0.0, 0.0, 0)
        var counts = ImportCounts()
        var points = (0..<12).map { history.samples / 2 + (history.samples - history.samples / 2) * $0 / 11 }[...]
        for batch in history {
            let (time, outcome) = try store.timed { try store.importBatch(batch) }
            seconds += Double(time) / 1e9
            counts += outcome
            done += batch.count
            if seconds > budget { break }
            if let point = points.first, done >= point {
                points.removeFirst()
                largest = try max(largest, Double(Session.bytes(of: folder)) / Double(done))
            }
        }
        seconds += try Stopwatch.seconds { try store.finishImport() }.seconds
        largest = try max(largest, Double(Session.bytes(of: folder)) / Double(max(done, 1)))
        return (seconds, counts, largest)
    }
}
