import Foundation
import HealthKV
import Histories

extension Session {
    /// Durable writes of new samples, edits and deletions at random dates, alternating with the baseline.
    func measureWrites() throws {
        var baseline: TwoPuts?
        if name == .healthKV {
            let bytes = try Session.bytes(of: storeFolder)
            note("building the baseline of \(bytes / 1_000_000) MB")
            baseline = try TwoPuts(folder: folder + "/baseline", bytes: bytes, seed: settings.seed)
        }
        // Finish background work of earlier works, which would slow the writers down.
        try store.finishImport()
        try store.settle()
        if wants(.durableWrite) { try measureSaves(baseline) }
        // Two disjoint sets of samples: the even picks are edited, the odd ones deleted.
        let count = min(max(settings.writes / 10, 10), settings.samples / 4)
        var random = SplitMix64(seed: settings.seed, stream: 61)
        let picks = history.picks(2 * count).enumerated()
        let edited = picks.filter { $0.offset % 2 == 0 }.map(\.element).shuffled(using: &random)
        let deleted = picks.filter { $0.offset % 2 == 1 }.map(\.element).shuffled(using: &random)
        if wants(.edit) { try measureEdits(edited, baseline) }
        if wants(.delete) { try measureDeletes(deleted, baseline) }
        try baseline?.close()
    }

    /// The size of a store whose samples were saved one by one, as an app saves them: before and after maintenance, and
    /// compacted.
    func measureSingleWrites() throws {
        let (work, count) = (Work.singleWrites.rawValue, settings.writes)
        note("\(work): \(count) durable writes")
        let folder = folder + "/single"
        let store = try SampleStore.open(at: folder)
        var random = SplitMix64(seed: settings.seed, stream: 67)
        var time = History.end
        for index in 0..<count {
            let type = history.types[index % history.types.count]
            time = time + (1 + Int64(random.next() % 600)) * Instant.nanosecondsPerSecond
            let sample = Sample(type, Double(random.next() % 300), type.canonicalUnit!, at: time)
            _ = try store.write { try $0.save(sample) }
        }
        try send(work + ".before_upkeep", Double(Session.bytes(of: folder)) / Double(count), .bytes)
        while try store.maintain() {}
        guard try store.blockingRead({ try $0.count() }) == count else {
            throw BenchFailure("\(work): samples are missing")
        }
        try send(work, Double(Session.bytes(of: folder)) / Double(count), .bytes)
        try send(work + ".compacted", compactedBytes(HealthKVStore(store), count), .bytes)
        guard try store.check().findings.isEmpty else { throw BenchFailure("\(work): the store is not sound") }
        try store.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    private func measureSaves(_ baseline: TwoPuts?) throws {
        note("durable_write")
        let before = try store.count()
        // Behind all that other works have saved: an app's next sample is its latest.
        let last = History.end + 800 * History.day
        let saved = (0..<settings.writes).map { index in
            Sample(
                history.types[index % history.types.count], Double(index % 300),
                history.types[index % history.types.count].canonicalUnit!,
                from: last + Int64(index) * 10 * Instant.nanosecondsPerSecond,
                to: last + Int64(index + 1) * 10 * Instant.nanosecondsPerSecond)
        }
        let done = try measure(Work.durableWrite.rawValue, saved, baseline) { try self.store.save($0) }
        guard try store.count() == before + done else { throw BenchFailure("durable_write: samples are missing") }
        var wrong = 0
        try store.lookUp(saved.prefix(done).suffix(checked).map(\.id)) { index, _, sample in
            if sample?.quantity != saved[max(0, done - checked) + index].quantity { wrong += 1 }
        }
        if wrong > 0 { throw BenchFailure("durable_write: \(wrong) samples are not as they were saved") }
    }

    /// The number of written samples to look up afterwards: all, unless that is slow.
    var checked: Int { name == .duckDB ? 50 : .max / 2 }

    private func measureEdits(_ samples: [Sample], _ baseline: TwoPuts?) throws {
        note("edit")
        let done = try measure(Work.edit.rawValue, samples, baseline) {
            try self.store.edit($0.id, value: $0.quantity.value + 1)
        }
        let edited = Array(samples.prefix(min(done, checked)))
        var wrong = 0
        try store.lookUp(edited.map(\.id)) { index, _, sample in
            if sample?.quantity.value != edited[index].quantity.value + 1 { wrong += 1 }
        }
        if wrong > 0 { throw BenchFailure("edit: \(wrong) samples do not have their new value") }
    }

    private func measureDeletes(_ samples: [Sample], _ baseline: TwoPuts?) throws {
        note("delete")
        let before = try store.count()
        let done = try measure(Work.delete.rawValue, samples, baseline) {
            if try !self.store.delete($0.id) { throw BenchFailure("delete: a sample was not there") }
        }
        var wrong = 0
        try store.lookUp(samples.prefix(min(done, checked)).map(\.id)) { _, _, sample in wrong += sample == nil ? 0 : 1
        }
        if try wrong > 0 || store.count() != before - done {
            throw BenchFailure("delete: \(wrong) samples are still there")
        }
    }

    /// Measures a write of each sample and as many of the baseline, alternating every twenty, so that variations of the
    /// disk affect both.
    ///
    /// Ends when the budget is spent, and returns the number of written samples.
    private func measure(
        _ work: String, _ samples: [Sample], _ baseline: TwoPuts?, _ write: (Sample) throws -> Void
    ) throws -> Int {
        var (own, puts) = (Latencies(), Latencies())
        own.reserve(samples.count)
        puts.reserve(samples.count)
        var (from, written) = (0, 0)
        while from < samples.count, name == .healthKV || own.seconds < settings.budget {
            let to = min(from + 20, samples.count)
            let before = PrivateMemory.written(by: store.processID)
            for index in from..<to { own.add(try store.timed { try write(samples[index]) }.nanoseconds) }
            written += PrivateMemory.written(by: store.processID) - before
            if let baseline {
                for _ in from..<to {
                    let start = Stopwatch.now()
                    try baseline.write()
                    puts.add(Stopwatch.now() - start)
                }
            }
            from = to
        }
        try send(work, own) { $0.writtenBytes = Double(written) / Double(max(from, 1)) }
        if baseline != nil { try send(work, puts, contestant: TwoPuts.name) }
        return from
    }
}
