import Foundation
import HealthKV
import Histories

extension HotPath {
    /// Always generates the whole history, and imports `rounds` of its batches. The planted slow-down imports other
    /// batches in addition.
    func importAll(_ samples: Int, batchRows: Int, _ store: SampleStore, _ rounds: Int) throws {
        var repeats = Repeats()
        let batches = Array(History(.plain, samples: samples, seed: 2, batchRows: batchRows))
        let others = Array(History(.plain, samples: samples, seed: 3, batchRows: batchRows))
        for index in 0..<rounds {
            try store.importBatch(batches[index])
            if repeats.next() == 2 { try store.importBatch(others[index]) }
        }
    }

    // Each work reads once before counting: what only the first read of a process does is not part of the hot path.

    func readAll(_ store: SampleStore, _ rounds: Int) throws {
        var repeats = Repeats()
        var count = 0
        for type in HotPath.history.types { _ = try store.blockingRead { try $0.series(type) } }
        for _ in 0..<rounds {
            for type in HotPath.history.types {
                for _ in 0..<repeats.next() { count += try store.blockingRead { try $0.series(type).values.count } }
            }
        }
        try expect(count, atLeast: rounds * HotPath.history.samples)
    }

    func foldAll(_ store: SampleStore, _ rounds: Int) throws {
        var repeats = Repeats()
        var count = 0
        for type in HotPath.history.types { _ = try store.blockingRead { try $0.series(type) } }
        for _ in 0..<rounds {
            for type in HotPath.history.types {
                for _ in 0..<repeats.next() {
                    count += try store.blockingRead { txn in
                        try txn.fold(type, into: 0) { sum, times, _ in sum += times.count }
                    }
                }
            }
        }
        try expect(count, atLeast: rounds * HotPath.history.samples)
    }

    /// Every second id does not exist.
    func lookUp(_ store: SampleStore, _ rounds: Int) throws {
        var random = SplitMix64(seed: 5)
        let picks = HotPath.history.picks(1_000)
        var repeats = Repeats()
        var found = 0
        let ids = picks.flatMap { [$0.id, SampleID(using: &random)] }
        try store.blockingRead { txn in
            for id in ids { _ = try txn.sample(id: id) }
            for round in 0..<rounds {
                let id = ids[round % ids.count]
                for _ in 0..<repeats.next() { found += try txn.sample(id: id) == nil ? 0 : 1 }
            }
        }
        try expect(found, atLeast: rounds / 2)
    }

    /// Saves weights with sync identifiers first; every second identifier does not exist.
    func lookUpSync(_ store: SampleStore, _ rounds: Int) throws {
        let count = 1_000
        var random = SplitMix64(seed: 8)
        let weights = (0..<count).map { index in
            Sample(
                .bodyMass, 70 + Double(index % 50) / 10, .kilogram, at: History.start + Int64(index) * History.day,
                id: SampleID(using: &random), syncIdentifier: "weight-\(index)")
        }
        try store.write { try $0.save(weights) }
        var repeats = Repeats()
        var found = 0
        let identifiers = (0..<2 * count).map { "weight-\($0 * 7_919 % (2 * count))" }
        try store.blockingRead { txn in
            for identifier in identifiers { _ = try txn.samples(syncIdentifier: identifier) }
            for round in 0..<rounds {
                let identifier = identifiers[round % identifiers.count]
                for _ in 0..<repeats.next() { found += try txn.samples(syncIdentifier: identifier).count }
            }
        }
        try expect(found, atLeast: rounds / 2)
    }

    /// Steps by day in New York, with access to each day.
    func sumDays(_ store: SampleStore, _ rounds: Int) throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: "America/New_York")!
        var repeats = Repeats()
        var found = 0
        func read() throws -> Int {
            try store.blockingRead { txn in
                try txn.statistics(.stepCount, by: .day, from: History.start, to: History.end, calendar: calendar)
                    .reduce(0) { $0 + $1.count }
            }
        }
        _ = try read()
        for _ in 0..<rounds {
            for _ in 0..<repeats.next() { found += try read() }
        }
        try expect(found, atLeast: rounds * HotPath.denseHistory.samples / 4)
    }

    func reduce(_ store: SampleStore, _ rounds: Int) throws {
        var repeats = Repeats()
        var found = 0
        func read() throws -> Int {
            try store.blockingRead { txn in
                try txn.series(.stepCount, from: History.start, to: History.end, points: HotPath.points).count
            }
        }
        _ = try read()
        for _ in 0..<rounds {
            for _ in 0..<repeats.next() { found += try read() }
        }
        try expect(found, atLeast: rounds * HotPath.points * 9 / 10)
    }

    func readDays(_ store: SampleStore, _ rounds: Int) throws {
        var random = SplitMix64(seed: 6)
        var repeats = Repeats()
        var found = 0
        let days = (0..<200).map { _ in History.start + Int64(random.below(History.days)) * History.day }
        func read(_ round: Int) throws -> Int {
            let (type, from) = (HotPath.history.types[round % 3], days[round % days.count])
            return try store.blockingRead { try $0.samples(of: type, from: from, to: from + History.day).count }
        }
        for round in days.indices { _ = try read(round) }
        for round in 0..<rounds {
            for _ in 0..<repeats.next() { found += try read(round) }
        }
        try expect(found, atLeast: rounds)
    }

    func begin(_ store: SampleStore, _ rounds: Int) throws {
        var repeats = Repeats()
        var begun = 0
        _ = try store.blockingRead { _ in 1 }
        for _ in 0..<rounds {
            for _ in 0..<repeats.next() { begun += try store.blockingRead { _ in 1 } }
        }
        try expect(begun, atLeast: rounds)
    }

    func readLatest(_ store: SampleStore, _ rounds: Int) throws {
        var repeats = Repeats()
        var found = 0
        for type in HotPath.history.types { _ = try store.blockingRead { try $0.latest(of: type) } }
        for round in 0..<rounds {
            let type = HotPath.history.types[round % 3]
            for _ in 0..<repeats.next() { found += try store.blockingRead { try $0.latest(of: type) } == nil ? 0 : 1 }
        }
        try expect(found, atLeast: rounds)
    }

    func readFirst(_ store: SampleStore, _ rounds: Int) throws {
        var random = SplitMix64(seed: 9)
        var repeats = Repeats()
        var found = 0
        let days = (0..<200).map { _ in History.start + Int64(random.below(History.days)) * History.day }
        func read(_ round: Int) throws -> Int {
            let (type, from) = (HotPath.history.types[round % 3], days[round % days.count])
            return try store.blockingRead { try $0.samples(of: type, from: from, limit: 1).count }
        }
        for round in days.indices { _ = try read(round) }
        for round in 0..<rounds {
            for _ in 0..<repeats.next() { found += try read(round) }
        }
        try expect(found, atLeast: rounds / 2)
    }

    func save(_ store: SampleStore, _ rounds: Int) throws {
        var random = SplitMix64(seed: 7)
        var repeats = Repeats()
        try store.write { [first = HotPath.sample(-1, &random)] in try $0.save(first) }
        for round in 0..<rounds {
            let samples = (0..<repeats.next()).map { _ in HotPath.sample(round, &random) }
            for sample in samples {
                try store.write { txn in
                    try txn.save(sample)
                    try txn.enqueue(
                        PendingOperation(peer: "peer", kind: .save, sample: sample.id, version: 1), of: sample.type)
                }
            }
        }
    }

    /// Saves samples of a type that the store does not have yet, one by one in one transaction.
    func saveTogether(_ store: SampleStore, _ order: [Int]) throws {
        var random = SplitMix64(seed: 10)
        var repeats = Repeats()
        var samples: [Sample] = []
        for index in order {
            for part in 0..<repeats.next() {
                let time = History.start + (Int64(index) * 3_600 + Int64(part)) * Instant.nanosecondsPerSecond
                samples.append(
                    Sample(
                        .bodyMass, 60 + Double(index % 300) / 10, .kilogram, at: time, id: SampleID(using: &random)))
            }
        }
        try store.write { [samples] txn in for sample in samples { _ = try txn.save(sample) } }
        try expect(try store.blockingRead { try $0.count(of: .bodyMass) }, atLeast: order.count)
    }

    private static func sample(_ index: Int, _ random: inout SplitMix64) -> Sample {
        let start = History.end + Int64(index) * 60 * Instant.nanosecondsPerSecond
        return Sample(
            .stepCount, Double(index % 300), .count, from: start, to: start + 30 * Instant.nanosecondsPerSecond,
            id: SampleID(using: &random))
    }

    private func expect(_ count: Int, atLeast least: Int) throws {
        if count < least { throw WrongAnswer() }
    }

    struct WrongAnswer: Error {}
}
