import Foundation
import HealthKV

/// This store, through its public API only, as an app uses it.
final class HealthKVStore: Contestant {
    private let store: SampleStore

    init(folder: String, hasIDs: Bool, sealer: (any StoreSealer)? = nil) throws {
        var options = SampleStore.Options()
        options.sealer = sealer
        options.source = Source(bundle: "app.example.bench", name: "Bench")
        store = try SampleStore.open(at: folder, options: options)
    }

    init(_ store: SampleStore) { self.store = store }

    func close() throws { try store.close() }

    func importBatch(_ batch: SampleBatch) throws -> ImportCounts {
        let report = try store.importBatch(batch)
        return ImportCounts(inserted: report.inserted, replaced: report.replaced, unchanged: report.unchanged)
    }

    func finishImport() throws { while try store.maintain(budget: .seconds(1)) {} }

    func compact(to folder: String) throws { try store.compact(to: folder) }

    func readAll(_ type: SampleType) throws -> Columns {
        let series = try store.blockingRead { try $0.series(type) }
        return Columns(times: series.times, values: series.values)
    }

    func foldAll(_ type: SampleType) throws -> ColumnSum {
        try store.blockingRead { txn in
            try txn.fold(type, into: ColumnSum()) { sum, times, values in
                // SAFETY: the buffers are used while their spans are borrowed.
                unsafe times.withUnsafeBufferPointer { times in
                    unsafe values.withUnsafeBufferPointer { unsafe sum.add(times, $0) }
                }
            }
        }
    }

    func lookUp(_ ids: [SampleID], _ visit: (Int, UInt64, Sample?) -> Void) throws {
        try store.blockingRead { txn in
            for (index, id) in ids.enumerated() {
                let from = Stopwatch.now()
                let sample = try txn.sample(id: id)
                visit(index, Stopwatch.now() - from, sample)
            }
        }
    }

    func lookUp(syncIdentifiers: [String], _ visit: (Int, UInt64, Sample?) -> Void) throws -> Bool {
        try store.blockingRead { txn in
            for (index, text) in syncIdentifiers.enumerated() {
                let from = Stopwatch.now()
                let sample = try txn.samples(syncIdentifier: text).first
                visit(index, Stopwatch.now() - from, sample)
            }
        }
        return true
    }

    func range(_ type: SampleType, from: Instant, to: Instant) throws -> [Sample] {
        try store.blockingRead { try $0.samples(of: type, from: from, to: to) }
    }

    func firstInRange(_ type: SampleType, from: Instant, to: Instant) throws -> Sample? {
        try store.blockingRead { txn in
            var first: Sample?
            try txn.forEachSample(of: type, from: from, to: to) {
                first = $0
                return false
            }
            return first
        }
    }

    func latest(_ type: SampleType) throws -> Sample? { try store.blockingRead { try $0.latest(of: type) } }

    /// Sums every sample of every source, wholly in the day of its start.
    func daySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums? {
        try daySums(
            type, days, CumulativeOptions(sources: .unmergedCountingOverlapsTwice, borders: .strictStart))
    }

    func mergedDaySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums? {
        try daySums(type, days, CumulativeOptions())
    }

    private func daySums(_ type: SampleType, _ days: DayAxis, _ options: CumulativeOptions) throws -> DaySums {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = days.timeZone
        let from = Instant(nanoseconds: days.bounds[0])
        let to = Instant(nanoseconds: days.bounds[days.count])
        let found = try store.blockingRead { [calendar] in
            try $0.statistics(
                type, by: .day, from: from, to: to, calendar: calendar, fillsEmptyBuckets: true, options: options)
        }
        var sums = DaySums(count: 0)
        sums.values = found.map { $0.sum ?? 0 }
        guard sums.values.count == days.count else { throw BenchFailure("day_stats: a day is missing") }
        return sums
    }

    func seriesPoints(_ type: SampleType, _ points: PointAxis) throws -> [SeriesPoint]? {
        let (from, to) = (Instant(nanoseconds: points.from), Instant(nanoseconds: points.end))
        let series = try store.blockingRead { try $0.series(type, from: from, to: to, points: points.count) }
        var found = Array(repeating: SeriesPoint(), count: points.count)
        for point in series {
            let (place, rest) = (point.start.nanoseconds - points.from).quotientAndRemainder(
                dividingBy: points.width)
            guard rest == 0, point.end - point.start == .nanoseconds(points.width) else {
                throw BenchFailure("series_points: the store's points have other borders")
            }
            found[Int(place)] = SeriesPoint(
                count: point.count, low: point.minimum, high: point.maximum, mean: point.mean)
        }
        return found
    }

    var keepsSummaries: Bool { true }

    func count() throws -> Int { try store.blockingRead { try $0.count() } }

    func save(_ sample: Sample) throws { try store.write { txn in try HealthKVStore.save(sample, &txn) } }

    private static func save(_ sample: Sample, _ txn: inout WriteTransaction) throws {
        try txn.save(sample)
        try txn.enqueue(PendingOperation(peer: "peer", kind: .save, sample: sample.id, version: 1))
    }

    /// Each writer waits until its sample is durable: threads block, tasks are suspended.
    func save(_ samples: [Sample], from writers: Writers) throws -> Bool {
        switch writers {
        case .threads:
            try ManyThreads.run(samples.count) { [store] index in
                try store.write { txn in try HealthKVStore.save(samples[index], &txn) }
            }
        case .tasks:
            try ManyTasks.run(samples.count) { [store] index in
                try await store.write { txn in try HealthKVStore.save(samples[index], &txn) }
            }
        }
        return true
    }

    func edit(_ id: SampleID, value: Double) throws {
        try store.write { txn in
            guard var sample = try txn.sample(id: id) else { throw BenchFailure("edit: a sample is missing") }
            sample.quantity.value = value
            try txn.save(sample)
        }
    }

    func delete(_ id: SampleID) throws -> Bool { try store.write { try $0.delete(id: id) } }

    func check() throws {
        let findings = try store.check().findings
        if let first = findings.first {
            throw BenchFailure("HealthKV: \(findings.count) findings, first \(first.kind)")
        }
    }
}
