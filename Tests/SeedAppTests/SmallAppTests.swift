import Foundation
import HealthKVSync
import SmallApps
import TestSupport
import Testing

@Suite("The small apps", .timeLimit(.minutes(30)))
struct SmallAppTests {
    private static let now = Date(timeIntervalSinceReferenceDate: 800_000_000)

    private static var calendar: Calendar {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = .gmt
        return calendar
    }

    @Test("The weight journal keeps, corrects, removes and restores entries, and tells the trend") func journal()
        async throws
    {
        let folder = TemporaryFolder()
        let journal = try WeightJournal(folder: URL(filePath: folder.path + "/journal"))
        var ids: [SampleID] = []
        for day in 0..<120 {
            ids.append(try await journal.log(90 - Double(day) * 0.1, at: Self.now - Double(120 - day) * 86_400))
        }
        try await journal.correct(ids[119], to: 79)
        try await journal.remove(ids[118])
        let first = try await journal.page()
        #expect(first.samples.count == 50 && first.samples[0].quantity == .kilograms(79))
        #expect(first.samples[1].id == ids[117])
        let second = try await journal.page(after: first.next)
        #expect(second.samples.count == 50 && second.next != nil)
        try await journal.restore(ids[118])
        let again = try await journal.page()
        #expect(again.samples[1].id == ids[118])
        let trend = try #require(try await journal.weeklyTrend(until: Self.now))
        #expect(trend < -0.6 && trend > -0.9)
        try journal.store.close()
    }

    @Test("The dashboard is there at once, and changes when another handle writes") func dashboard() async throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path + "/steps")
        func walk(_ steps: Double, daysAgo day: Double, _ source: String) async throws {
            let start = try Instant(Self.now - day * 86_400)
            let sample = Sample(
                .stepCount, steps, .count, from: start, to: start + 600_000_000_000, source: Source(name: source))
            _ = try await store.write { try $0.save(sample) }
        }
        for day in 1...9 { try await walk(day <= 3 ? 12_000 : 4_000, daysAgo: Double(day), "Phone") }
        let other = try SampleStore.open(at: folder.path + "/steps")
        var contents = StepsDashboard(other, calendar: Self.calendar).contents { Self.now }.makeAsyncIterator()
        let first = try #require(try await contents.next())
        #expect(first.days.count == 31 && first.streak == 3 && first.byHour.count == 24)
        #expect(first.sources == ["Phone": 60_000] && first.againstLastWeek != nil)
        try await walk(500, daysAgo: 20, "Watch")
        let second = try #require(try await contents.next())
        #expect(second.sources == ["Phone": 60_000, "Watch": 500])
        // Steps of today that come after it was asked.
        try await walk(100, daysAgo: -0.01, "Phone")
        let third = try #require(try await contents.next())
        #expect(third.sources["Phone"] == 60_100 && third.days.last?.steps == 100)
        try other.close()
        try store.close()
    }

    @Test("The meal logger sums up days, and water is no meal") func meals() async throws {
        let logger = MealLogger(try SampleStore.temporary())
        let noon = Self.calendar.startOfDay(for: Self.now) + 43_200
        try await logger.log(
            Meal(
                id: "1", at: try Instant(noon), name: "Stew", energy: .kilocalories(400), protein: .grams(20),
                more: [.dietaryVitaminC: .milligrams(60)]))
        try await logger.log(Meal(id: "2", at: try Instant(noon + 3_600), energy: .kilojoules(418.4)))
        try await logger.drink(250, at: noon)
        let day = try await logger.day(of: noon, calendar: Self.calendar)
        #expect(day[.dietaryEnergyConsumed]?.value == 500 && day[.dietaryWater] == .milliliters(250))
        let meals = try await logger.meals(on: DateInterval(start: noon, duration: 7_200))
        #expect(meals.map(\.name) == ["Stew", "Meal"] && meals.map(\.energy) == [400, 100])
        try await logger.remove("1")
        let after = try await logger.day(of: noon, calendar: Self.calendar)
        #expect(after[.dietaryProtein] == nil && after[.dietaryEnergyConsumed]?.value == 100)
        try logger.store.close()
    }

    @Test("The view model shows what is written") @MainActor func model() async throws {
        let store = try SampleStore.temporary()
        let model = WeightModel(store, now: Self.now)
        for (day, value) in [(3.0, 80.0), (2, 82), (1, 81)] {
            let sample = Sample(.bodyMass, .kilograms(value), at: try Instant(Self.now - day * 86_400))
            _ = try await store.write { try $0.save(sample) }
        }
        while model.lines.count < 3 || model.usualWeight != 81 { try await Task.sleep(for: .milliseconds(2)) }
        #expect(model.lines == ["81.0 kg", "82.0 kg", "80.0 kg"] && model.problem == nil)
        try store.close()
    }

    @Test("The lines that the comparison names are those of its files, and the README adds them up") func lines() throws
    {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let docs = root.appendingPathComponent("docs")
        let text = try String(contentsOf: docs.appendingPathComponent("COMPARED.md"), encoding: .utf8)
        var (ours, grdb) = (0, 0)
        for match in text.matches(of: /\[(\d+)\]\(([^)]+\.swift)\)/) {
            let file = docs.appendingPathComponent(String(match.2))
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { line in
                let code = line.drop(while: \.isWhitespace)
                return !code.isEmpty && !code.hasPrefix("//")
            }
            #expect(Int(match.1) == lines.count, "\(match.2)")
            if match.2.hasPrefix("../Examples") { ours += lines.count }
            if match.2.hasPrefix("compared/GRDB") { grdb += lines.count }
        }
        #expect(ours > 0)
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        #expect(readme.contains("\(ours) lines on HealthKV and \(grdb) on GRDB"))
    }
}
