import Foundation
import Histories
import Testing

import HealthKV
@testable import bench

@Suite("Contestants")
struct ContestantTests {
    @Test(
        "A contestant gives back what was imported, and importing it again changes nothing",
        arguments: stores, History.Profile.allCases)
    func givesBack(name: ContestantName, profile: History.Profile) throws {
        try withStore(name) { store in
            let history = History(profile, samples: 1_500, batchRows: 400)
            let samples = try load(history, into: store)
            var found: [SampleID: Sample] = [:]
            // Who has no index is asked for some.
            let asked = name == .duckDB ? Array(samples.shuffled().prefix(50)) : samples
            try store.lookUp(asked.map(\.id) + [SampleID.max]) { _, _, sample in
                if let sample { found[sample.id] = sample }
            }
            #expect(found.count == asked.count)
            for sample in asked {
                #expect(found[sample.id]?.contentBytes == sample.contentBytes)
                #expect(found[sample.id]?.syncIdentifier == sample.syncIdentifier)
            }
            var again = ImportCounts()
            for batch in history { again += try store.importBatch(batch) }
            #expect(again == ImportCounts(unchanged: samples.count))
            #expect(try store.count() == samples.count)
            try store.check()
        }
    }

    @Test("A contestant's columns and sums are those of the limit", arguments: stores, History.Profile.allCases)
    func columns(name: ContestantName, profile: History.Profile) throws {
        try withStore(name) { store in
            let history = History(profile, samples: 2_000, batchRows: 666)
            try load(history, into: store)
            let copies = MemoryCopy(history)
            for type in history.types {
                var (own, limit) = (Digest(), Digest())
                try own.add(store.readAll(type))
                try limit.add(copies.readAll(type))
                #expect(own.text == limit.text)
                #expect(try store.foldAll(type) == copies.sum(type))
            }
        }
    }

    @Test("Ranges are those that a search through all samples finds", arguments: stores, History.Profile.allCases)
    func ranges(name: ContestantName, profile: History.Profile) throws {
        let given = ProcessInfo.processInfo.environment["HEALTHKV_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        try withStore(name) { store in
            let samples = try load(History(profile, samples: 4_000, seed: seed), into: store)
            for _ in 0..<40 {
                let type = samples[random.below(samples.count)].type
                let from = History.start + Int64(random.below(History.days)) * History.day
                let range = TimeRange(from: from, to: from + Int64(random.whole(1...30)) * History.day)
                let wanted = samples.filter {
                    $0.type == type && range.picks(start: $0.start, end: $0.end, by: .overlap)
                }
                let found = try store.range(type, from: range.from, to: range.to)
                #expect(Set(found.map(\.id)) == Set(wanted.map(\.id)) && found.count == wanted.count)
                #expect(found.map(\.start) == wanted.map(\.start))
                let first = try store.firstInRange(type, from: range.from, to: range.to)
                #expect(first?.start == wanted.first?.start)
            }
            for type in Set(samples.map(\.type)) {
                #expect(try store.latest(type)?.start == samples.last { $0.type == type }?.start)
            }
            try store.check()
        }
    }

    @Test("What is saved, edited and deleted stays so after the store was opened again", arguments: stores)
    func writes(name: ContestantName) throws {
        try withFolder { folder in
            var store = try #require(try name.open(folder: folder, hasIDs: true))
            let samples = try load(History(.plain, samples: 1_000), into: store)
            let new = Sample(.stepCount, 5, .count, at: History.end)
            try store.save(new)
            try store.edit(samples[10].id, value: 77)
            #expect(try store.delete(samples[20].id))
            #expect(try !store.delete(samples[20].id))
            try store.check()
            try store.close()
            store = try #require(try name.open(folder: folder, hasIDs: true))
            var values: [Double?] = []
            try store.lookUp([new.id, samples[10].id, samples[20].id]) { values.append($2?.quantity.value) }
            #expect(values == [5, 77, nil])
            #expect(try store.count() == 1_000)
            try store.check()
            try store.close()
        }
    }

    @Test("A sync identifier finds its sample, until that is deleted", arguments: stores)
    func syncIdentifiers(name: ContestantName) throws {
        try withStore(name) { store in
            let samples = try load(History(.weight, samples: 600, batchRows: 150), into: store)
            let named = samples.filter { $0.syncIdentifier != nil }
            #expect(named.count > 100)
            #expect(try store.delete(named[3].id))
            var found: [SampleID?] = []
            let texts = named.map { $0.syncIdentifier! } + ["no such text"]
            #expect(try store.lookUp(syncIdentifiers: texts) { found.append($2?.id) })
            #expect(found[3] == nil && found.last! == nil)
            for (index, sample) in named.enumerated() where index != 3 { #expect(found[index] == sample.id) }
            try store.check()
        }
    }

    @Test("Sums of days and points are those of the samples, also after an edit and a deletion", arguments: stores)
    func statistics(name: ContestantName) throws {
        try withStore(name) { store in
            var samples = try load(History(.plain, samples: 6_000, batchRows: 900), into: store)
            let steps = samples.indices.filter { samples[$0].type == .stepCount }
            try store.edit(samples[steps[7]].id, value: 1_000)
            samples[steps[7]].quantity.value = 1_000
            #expect(try store.delete(samples[steps[9]].id))
            samples.remove(at: steps[9])
            let days = DayAxis.newYork
            let points = PointAxis()
            var sums = Array(repeating: 0.0, count: days.count)
            var pointSums = Array(repeating: 0.0, count: points.count)
            var wanted = Array(repeating: SeriesPoint(), count: points.count)
            for sample in samples where sample.type == .stepCount {
                let (start, value) = (sample.start.nanoseconds, sample.quantity.value)
                sums[days.day(of: start)] += value
                let place = Int((start - points.from) / points.width)
                let old = wanted[place]
                pointSums[place] += value
                wanted[place] = SeriesPoint(
                    count: old.count + 1, low: old.count == 0 ? value : min(old.low, value),
                    high: old.count == 0 ? value : max(old.high, value),
                    mean: pointSums[place] / Double(old.count + 1))
            }
            #expect(try store.daySums(.stepCount, days)?.values == sums)
            // Merged sources leave out what two of them counted at the same time, and share a sample between two days.
            if let merged = try store.mergedDaySums(.stepCount, days) {
                let part = merged.values.reduce(0, +)
                #expect(merged.values.count == days.count && part > 0 && part <= sums.reduce(0, +) + 1e-6)
            }
            #expect(try store.seriesPoints(.stepCount, points) == wanted)
            try store.check()
        }
    }

    @Test("A day of New York begins at its midnight, whatever the clocks do")
    func days() {
        let days = DayAxis.newYork
        let lengths = zip(days.bounds, days.bounds.dropFirst()).map { ($1 - $0) / 3_600_000_000_000 }
        #expect(Set(lengths) == [23, 24, 25])
        #expect(lengths.filter { $0 == 23 }.count == 10 && lengths.filter { $0 == 25 }.count == 10)
        #expect(days.day(of: days.bounds[100]) == 100 && days.day(of: days.bounds[100] - 1) == 99)
        #expect(days.bounds[0] <= History.start.nanoseconds)
    }

    // Two stores with tasks at once would block both threads of a small pool.
    @Test("What 64 writers save at once is all there", arguments: stores.filter { $0 != .sealed })
    func manyWriters(name: ContestantName) throws {
        try withStore(name) { store in
            try load(History(.plain, samples: 300), into: store)
            var able: [Writers] = []
            for writers in [Writers.tasks, .threads] {
                let saved = (0..<200).map { Sample(.stepCount, Double($0), .count, at: History.end + Int64($0)) }
                let before = try store.count()
                guard try store.save(saved, from: writers) else { continue }
                able.append(writers)
                #expect(try store.count() == before + saved.count)
                var values: [Double?] = []
                let few = saved.suffix(20)
                try store.lookUp(few.map(\.id)) { values.append($2?.quantity.value) }
                #expect(values == few.map(\.quantity.value))
            }
            #expect(able.contains(.threads))
            try store.check()
        }
    }

    @Test("Without UUIDs samples are found by their derived ids", arguments: [ContestantName.healthKV, .rows])
    func derived(name: ContestantName) throws {
        try withStore(name, hasIDs: false) { store in
            let history = History(.plain, samples: 2_000, hasIDs: false)
            let samples = try load(history, into: store)
            var missing = 0
            try store.lookUp(samples.map(\.id)) { index, _, sample in
                missing += sample?.contentBytes == samples[index].contentBytes ? 0 : 1
            }
            #expect(missing == 0)
            var again = ImportCounts()
            for batch in history { again += try store.importBatch(batch) }
            #expect(again == ImportCounts(unchanged: samples.count))
        }
    }

    /// The contestants that are stores.
    static let stores = ContestantName.allCases.filter { $0 != .memcpy }

    @discardableResult
    private func load(_ history: History, into store: any Contestant) throws -> [Sample] {
        var samples: [Sample] = []
        for batch in history {
            #expect(try store.importBatch(batch) == ImportCounts(inserted: batch.count))
            samples += (0..<batch.count).map { batch.sample(at: $0) }
        }
        try store.finishImport()
        return samples
    }

    private func withStore(
        _ name: ContestantName, hasIDs: Bool = true, _ body: (any Contestant) throws -> Void
    ) throws {
        try withFolder { folder in
            let store = try #require(try name.open(folder: folder, hasIDs: hasIDs))
            try body(store)
            try store.close()
        }
    }

    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/bench-tests-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }
}
