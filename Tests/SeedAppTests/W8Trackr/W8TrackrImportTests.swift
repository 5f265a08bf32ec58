import Foundation
import HealthKVSync
import HealthKitSimulator
import Testing

/// Weight from Apple Health to W8Trackr, the first import and later ones (documents 000, 001, 002).
@Suite struct W8TrackrImportTests {
    /// Records one weight of a smart scale per day, up to now.
    private func weigh(_ bench: AppBench, days: Int) throws {
        for day in 0..<days {
            try bench.scale.record("BodyMass", 80 - Double(day) / 100, "kg", from: bench.date(-day * 86_400 - 60))
        }
    }

    private func importAll(_ bench: AppBench, _ horizon: TypePlan.Horizon) async throws -> [SyncProgress] {
        var steps: [SyncProgress] = []
        for try await step in bench.sync.importHistory(AppBench.health, horizon) { steps.append(step) }
        return steps
    }

    /// Switches syncing on for a person who has weights in Health, with the engine running, and leaves the app open for
    /// hours without an answer to its question.
    private func waitForAnswer(_ bench: AppBench, days: Int) async throws {
        try weigh(bench, days: days)
        bench.device.answerRequests(.allow)
        bench.sync.start()
        try await bench.sync.enable(AppBench.health)
        try await bench.sync.authorize(AppBench.health)
        for _ in 0..<3 {
            bench.clock.advance(by: 3_600)
            try await bench.sync.enterForeground()
            try await bench.refresh()
        }
    }

    @Test("With syncing switched on, the app can ask about so many entries; until it is answered none of them comes")
    func prompt() async throws {
        try await withApp(.weightTracker.askingForHistory, answer: nil) { bench in
            try await waitForAnswer(bench, days: 12)
            #expect(try bench.status.historyToAsk == [.bodyMass])
            #expect(try await bench.sync.importPreview(AppBench.health) == [.bodyMass: 12])
            #expect(try bench.samples(.bodyMass).isEmpty)
            _ = try await importAll(bench, .all)
            #expect(try bench.samples(.bodyMass).count == 12 && bench.status.historyToAsk.isEmpty)
        }
    }

    @Test("An import reads the whole history, however old, the newest first, with progress")
    func importsAll() async throws {
        try await withApp(.weightTracker) { bench in
            try weigh(bench, days: 30)
            try bench.scale.record("BodyMass", 95, "kg", from: bench.date(-20 * 365 * 86_400))
            let steps = try await importAll(bench, .all)
            let weights = try bench.samples(.bodyMass)
            #expect(weights.count == 31 && weights.first?.quantity == Quantity(95, .kilogram))
            #expect(steps.map(\.imported).reduce(0, +) == 31 && steps.last?.isDrained == true)
            // The first step imports last week.
            #expect(steps.first.map { (7...8).contains($0.imported) } == true)
            #expect(try bench.status.imported[.bodyMass] == 31)
            // Ends descend: each later step imports samples before those of all earlier steps.
            let told = try bench.store.blockingRead { try $0.changes(since: nil) }.changes.compactMap {
                change -> Instant? in
                if case .saved(let sample) = change.kind { sample.end } else { nil }
            }
            var (place, last) = (0, Instant.distantFuture)
            for step in steps where step.imported > 0 {
                let ends = told[place..<place + step.imported]
                #expect(ends.max()! < last)
                (place, last) = (place + step.imported, ends.min()!)
            }
            #expect(place == 31 && told.count == 31)
        }
    }

    @Test("With the import skipped, existing samples are never stored, and later ones are")
    func skips() async throws {
        try await withApp(.weightTracker.askingForHistory, answer: nil) { bench in
            try await waitForAnswer(bench, days: 5)
            _ = try await importAll(bench, .fromNowOn)
            #expect(try bench.samples(.bodyMass).isEmpty && bench.status.historyToAsk.isEmpty)
            bench.clock.advance(by: 3_600)
            try bench.scale.record("BodyMass", 79, "kg", from: bench.clock.now)
            try await bench.refresh()
            #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [79])
            // The monthly rescan reads everything again.
            bench.clock.advance(by: 40 * 86_400)
            try await bench.sync.enterForeground()
            #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [79])
        }
    }

    @Test("An imported entry keeps source, date and UUID, differs from own ones, and has neither note nor body fat")
    func attribution() async throws {
        try await withApp(.weightTracker) { bench in
            let uuid = try bench.scale.record("BodyMass", 160, "lb", from: bench.date(-60))
            try bench.save(.weight(Quantity(72.5, .kilogram), at: try bench.now, note: "mine"))
            try await bench.refresh()
            let weights = try bench.samples(.bodyMass)
            #expect(weights.map(\.origin) == [.imported, .authored])
            let imported = try #require(weights.first)
            #expect(imported.source.name == "Smart Scale" && imported.source.bundle == "com.example.scale")
            let date = try bench.at(-60)
            #expect(imported.id == SampleID(uuid) && imported.start == date)
            #expect(imported.note == nil && imported.bodyFat == nil)
            #expect(try abs(imported.value(in: .pound) - 160) < 1e-9)
            #expect(imported.quantity.unit == .kilogram)
        }
    }

    @Test("A sync version that another app assigned is kept")
    func foreignVersion() async throws {
        try await withApp(.weightTracker) { bench in
            let keys: [String: Any] = [HKMetadataKeySyncIdentifier: "s-1", HKMetadataKeySyncVersion: 7]
            try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-60), metadata: keys)
            try await bench.refresh()
            let imported = try #require(try bench.samples(.bodyMass).first)
            #expect(imported.version == 7 && imported.syncIdentifier == "s-1")
        }
    }

    @Test("Weights in pounds, kilograms and stones are read in the preferred unit")
    func units() async throws {
        try await withApp(.weightTracker) { bench in
            for (index, unit) in ["lb", "kg", "st"].enumerated() {
                try bench.scale.record("BodyMass", 14, unit, from: bench.date(-100 + index))
            }
            try await bench.refresh()
            let weights = try bench.samples(.bodyMass)
            for (weight, unit) in zip(weights, [HealthUnit.pound, .kilogram, try HealthUnit(symbol: "st")]) {
                #expect(try abs(weight.value(in: unit) - 14) < 1e-9)
            }
        }
    }

    @Test("365 days of weights are imported completely at once")
    func aYear() async throws {
        try await withApp(.weightTracker) { bench in
            try weigh(bench, days: 365)
            _ = try await importAll(bench, .all)
            #expect(try bench.samples(.bodyMass).count == 365)
        }
    }

    @Test("Thousands of entries are imported in several steps, and a cancelled import continues at its last step")
    func batches() async throws {
        try await withApp(.weightTracker) { bench in
            try weigh(bench, days: 5_000)
            var first = 0
            for try await step in bench.sync.importHistory(AppBench.health, .all) {
                first += step.imported
                if first > 0 { break }
            }
            let steps = try await importAll(bench, .all)
            #expect(steps.count >= 4)
            #expect(try bench.samples(.bodyMass).count == 5_000)
            #expect(try await bench.refresh().pulled.imported == 0)
        }
    }

    @Test("An empty Health gives no entries and no error")
    func empty() async throws {
        try await withApp(.weightTracker) { bench in
            let report = try await bench.refresh()
            #expect(report.issue == nil && report.pulled == PullReport())
            #expect(try bench.samples(.bodyMass).isEmpty)
        }
    }
}
