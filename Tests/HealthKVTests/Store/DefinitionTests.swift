import ColumnFormat
import Foundation
import TestSupport
import Testing

@testable import HealthKV

/// Each test has types of its own, because a process knows each type once.
@Suite("Types that an app defines") struct DefinitionTests {
    private static let app = Source(bundle: "app", name: "App")

    private static func sample(_ type: SampleType, _ value: Double, _ unit: HealthUnit, at time: Instant) -> Sample {
        Sample(type, value, unit, from: time, to: time, source: app, id: SampleID())
    }

    private static let utc: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    private static func days(_ type: SampleType, _ store: SampleStore) throws -> [Statistics] {
        try store.read { try Array($0.statistics(type, by: .day, calendar: utc)) }
    }

    @Test("Statistics add, average or take the latest value, in the unit that was defined")
    func combinations() throws {
        try withStore { store in
            for combination in TypeDefinition.Combination.allCases {
                let definition = TypeDefinition(
                    "app.dose-\(combination.rawValue)", unit: .gram, combining: combination, name: "Dose")
                let type = try store.define(definition)
                #expect(type.canonicalUnit == .gram && type.combination == combination && type.displayName == "Dose")
                #expect(type.aggregation == (combination == .sum ? .cumulative : .discrete) && type.kind == .quantity)
                try store.write { txn in
                    for (hour, value) in [1.0, 2, 6].enumerated() {
                        try txn.save(Self.sample(type, value, .gram, at: .day(0, hour * 3_600)))
                    }
                    try txn.save(Self.sample(type, 3_000, .milligram, at: .day(1)))
                }
                let days = try Self.days(type, store)
                let first = [TypeDefinition.Combination.sum: 9.0, .mean: 3, .latest: 6][combination]!
                #expect(days.map(\.value) == [first, 3] && days[0].unit == .gram)
                while try store.maintain() {}
                #expect(try Self.days(type, store) == days)
            }
            #expect(try Self.days(.bodyMass, store).isEmpty)
        }
    }

    @Test(
        "Values outside the range, units of another dimension and unsuitable definitions are refused, without a value")
    func refusals() throws {
        try withStore { store in
            let type = try store.define(
                TypeDefinition("app.mood", unit: .count, combining: .mean, range: 1...5, name: "Mood"))
            for (value, unit) in [(5.5, HealthUnit.count), (0, .count), (-1, .count), (3, .gram)] {
                let sample = Self.sample(type, value, unit, at: .day(0))
                let error = #expect(throws: StoreError.self) { try store.save(sample) }
                #expect(error?.code == .invalidSample)
                #expect(unit != .count || "\(error!)".contains("range of Mood: 1 to 5 count"), "\(error!)")
                #expect(!"\(error!)".contains("5.5"))
            }
            // Other stores may have defined another range, so what they send is taken.
            for (value, unit) in [(1.0, HealthUnit.count), (9, .count), (3, .gram)] {
                var batch = SampleBatch()
                batch.append(Self.sample(type, value, unit, at: .day(Int(value))))
                if unit == .count {
                    #expect(try store.importBatch(batch).inserted == 1)
                } else {
                    expectError(.invalidSample) { try store.importBatch(batch) }
                }
            }
            try store.save(Self.sample(type, 4, .count, at: .day(7)))
            let unsuitable = [
                TypeDefinition("", unit: .count, combining: .sum),
                TypeDefinition("mood", unit: .count, combining: .sum),
                TypeDefinition("app mood", unit: .count, combining: .sum),
                TypeDefinition("app.müde", unit: .count, combining: .sum),
                TypeDefinition("stepCount", unit: .count, combining: .sum),
                TypeDefinition("StepCount", unit: .count, combining: .sum),
                TypeDefinition("HKQuantityTypeIdentifierMood", unit: .count, combining: .sum),
                TypeDefinition("app.other", unit: .count, combining: .sum, name: ""),
                TypeDefinition("app.other", unit: .count, combining: .sum, range: .infinity ... .infinity),
                TypeDefinition(String(repeating: "a", count: 256), unit: .count, combining: .sum),
            ]
            for definition in unsuitable {
                #expect(throws: (any Error).self, "\(definition)") { try store.define(definition) }
            }
            #expect(try store.read { try $0.definitions() }.map(\.identifier) == ["app.mood"])
        }
    }

    @Test("To define the same again commits nothing; range and name may change, unit and combination may not")
    func again() throws {
        try withStore { store in
            var definition = TypeDefinition("app.again", unit: .minute, combining: .sum, range: 0...60)
            try store.define(definition)
            let commit = try store.info().commit
            try store.define(definition)
            #expect(try store.info().commit == commit)
            definition = TypeDefinition("app.again", unit: .minute, combining: .sum, range: 0...90, name: "Again")
            let type = try store.define(definition)
            try store.save(Self.sample(type, 80, .minute, at: .day(0)))
            #expect(type.displayName == "Again")
            expectError(.invalidArgument) {
                try store.define(TypeDefinition("app.again", unit: .hour, combining: .sum))
            }
            expectError(.invalidArgument) {
                try store.define(TypeDefinition("app.again", unit: .minute, combining: .latest))
            }
            #expect(try store.read { try $0.definitions() } == [definition])
            // The process knows each type once.
            let other = try SampleStore.temporary()
            expectError(.conflictingTypes) {
                try other.define(TypeDefinition("app.again", unit: .hour, combining: .sum))
            }
            #expect(try other.read { try $0.definitions() }.isEmpty)
            try other.close()
        }
    }

    @Test("A range that becomes narrower concerns what is saved from then on, and takes nothing away") func narrower()
        throws
    {
        try withStore { store in
            let type = try store.define(TypeDefinition("app.narrow", unit: .count, combining: .mean, range: 0...10))
            let old = Self.sample(type, 8, .count, at: .day(0))
            let other = Self.sample(type, 9, .count, at: .day(1))
            try store.write { try $0.save([old, other]) }
            try store.write { _ = try $0.delete(id: other.id) }
            try store.define(TypeDefinition("app.narrow", unit: .count, combining: .mean, range: 1...5))
            expectError(.invalidSample) { try store.save(Self.sample(type, 8, .count, at: .day(2))) }
            let member = Self.sample(type, 7, .count, at: .day(3))
            expectError(.invalidSample) { try store.write { try $0.save(group: "g", [member]) } }
            #expect(try store.read { try $0.sample(id: old.id) }?.quantity.value == 8)
            // A note on an old value is no new value.
            var noted = old
            noted.metadata["note"] = .string("before")
            try store.save(noted)
            noted.quantity.value = 7
            expectError(.invalidSample) { [noted] in try store.save(noted) }
            #expect(try store.write { try $0.undelete(id: other.id) }?.quantity.value == 9)
            #expect(try Self.days(type, store).map(\.value) == [8, 9])
        }
    }

    @Test("A definition that was not committed binds nobody, and the store's range counts, not that of another store")
    func uncommitted() throws {
        try withStore { store in
            #expect(throws: Refusal.self) {
                try store.write { txn in
                    try Defining.define(TypeDefinition("app.undone", unit: .gram, combining: .sum), in: &txn)
                    throw Refusal()
                }
            }
            let type = try store.define(
                TypeDefinition("app.undone", unit: .count, combining: .sum, range: 0...10, name: "Ten"))
            let other = try SampleStore.temporary()
            try other.define(TypeDefinition("app.undone", unit: .count, combining: .sum, range: 0...5))
            try store.save(Self.sample(type, 8, .count, at: .day(0)))
            expectError(.invalidSample) { try other.save(Self.sample(type, 8, .count, at: .day(0))) }
            try other.close()
        }
    }

    @Test("Each store reads its samples by its own definition, also where another store of the process differs")
    func differing() throws {
        let folder = TemporaryFolder()
        // As another process leaves it: this one has never heard of the type.
        let written = try SampleStore.open(at: folder.path + "/a")
        let definition = TypeDefinition("app.differing", unit: .gram, combining: .sum)
        try written.define(definition)
        try written.save(Self.sample(definition.type, 2_000, .milligram, at: .day(0)))
        while try written.maintain() {}
        try written.close()
        DefinedTypes.forget("app.differing")
        try withStore { store in
            let type = try store.define(TypeDefinition("app.differing", unit: .count, combining: .latest))
            for value in [3.0, 4] { try store.save(Self.sample(type, value, .count, at: .day(0, Int(value)))) }
            let other = try SampleStore.open(at: folder.path + "/a")
            #expect(try other.read { try $0.definitions() } == [definition])
            for _ in 0..<2 {
                #expect(try other.read { try $0.statistics(of: type) }.sum == 2)
                #expect(try store.read { try $0.statistics(of: type) }.latestValue == 4)
                #expect(try other.read { try $0.statistics(of: type) }.value == 2)
                #expect(try store.read { try $0.statistics(of: type) }.value == 4)
                while try other.maintain() {}
                while try store.maintain() {}
            }
            for name in [nil, "Grams"] {
                expectError(.conflictingTypes) {
                    try other.define(TypeDefinition("app.differing", unit: .gram, combining: .sum, name: name))
                }
            }
            try other.close()
        }
    }

    @Test("A store keeps its definitions over reopening, copies and compaction") func kept() throws {
        let folder = TemporaryFolder()
        let definition = TypeDefinition("app.kept", unit: .count, combining: .latest, range: 0 ... .infinity)
        let store = try SampleStore.open(at: folder.path + "/a")
        try store.define(definition)
        try store.save(Self.sample(definition.type, 3, .count, at: .day(0)))
        try store.backup(to: folder.path + "/b")
        try store.compact(to: folder.path + "/c")
        try store.compactInPlace()
        try store.close()
        for name in ["a", "b", "c"] {
            let store = try SampleStore.open(at: folder.path + "/" + name)
            #expect(try store.read { try $0.definitions() } == [definition])
            #expect(store.core.definitions.withLock { $0.types } == [definition.identifier: definition])
            try store.expectClean()
            try store.close()
        }
    }

    @Test("A type may be defined after its samples came, if their units fit; ids and other stores stay as they are")
    func late() throws {
        var options = SampleStore.Options()
        options.limits.thinSamples = 4
        let other = try SampleStore.temporary(options: options)
        try withStore(options: options) { store in
            let type = SampleType("app.late")
            var batch = SampleBatch()
            for number in 0..<600 {
                let (value, unit) = number.isMultiple(of: 2) ? (Double(number), HealthUnit.second) : (1, .minute)
                let kind = batch.kind(type, unit, source: Self.app)
                batch.append(kind: kind, start: .day(0, number * 7), end: .day(0, number * 7), value: value)
            }
            for one in [store, other] {
                try one.importBatch(batch)
                while try one.maintain() {}
            }
            let before = try store.read { try $0.samples(SampleQuery(type)) }
            for unit in [HealthUnit.gram, .count] {
                expectError(.invalidArgument) {
                    try store.define(TypeDefinition("app.late", unit: unit, combining: .sum))
                }
            }
            // A reader from before the definition sees no summaries, and none are missing to it.
            let wanted = before.map { $0.quantity.unit == .second ? $0.quantity.value : 60 }.reduce(0, +)
            try store.blockingRead { txn in
                try store.define(TypeDefinition("app.late", unit: .second, combining: .sum))
                #expect(try txn.definitions().isEmpty)
                let sum = try txn.statistics(of: type, options: CumulativeOptions()).sum
                #expect(abs((sum ?? 0) - wanted) < 1e-6)
            }
            for _ in 0..<2 {
                let sum = try store.read { try $0.statistics(of: type) }.value
                #expect(abs((sum ?? 0) - wanted) < 1e-6)
                while try store.maintain() {}
                try store.expectClean()
            }
            #expect(try store.read { try $0.samples(SampleQuery(type)) } == before)
            for sample in before { #expect(try store.read { try $0.sample(id: sample.id) } == sample) }
            // The other store has not defined it, and its process has.
            #expect(try other.read { try $0.definitions() }.isEmpty)
            let sum = try other.read {
                try $0.statistics(of: type, unit: .second, options: CumulativeOptions()).sum
            }
            #expect(abs((sum ?? 0) - wanted) < 1e-6)
            try other.save(Self.sample(type, 7, .second, at: .day(0, 3)))
            while try other.maintain() {}
            try other.expectClean()
        }
        try other.close()
    }

    @Test("Observed statistics are told again when their type is defined") func observed() async throws {
        let store = try SampleStore.temporary()
        let type = SampleType("app.observed")
        try store.save(Self.sample(type, 2, .minute, at: .day(0)))
        var updates = store.statisticsUpdates(StatisticsQuery(type, by: .day, calendar: Self.utc)).makeAsyncIterator()
        #expect(try await updates.next()?.unit == .minute)
        try store.define(TypeDefinition("app.observed", unit: .second, combining: .sum))
        #expect(try await updates.next()?.first?.value == 120)
        try store.close()
    }

    @Test("Where the record of definitions is lost its copy is read; where both are, the store says that it is damaged")
    func lost() throws {
        let folder = TemporaryFolder()
        let definition = TypeDefinition("app.lost", unit: .count, combining: .mean)
        func open() throws -> SampleStore { try SampleStore.open(at: folder.path + "/a") }
        // The first commit of a session writes the copy again, so each goes in a commit of its own.
        func lose(_ records: [(TableCode, [UInt8])]) throws {
            let store = try open()
            for (table, key) in records {
                _ = try store.core.onWriter { [core = store.core] in
                    try core.transact { txn in try txn.remove(table, key) }
                }
            }
            try store.close()
        }
        let store = try open()
        try store.define(definition)
        try store.save(Self.sample(definition.type, 3, .count, at: .day(0)))
        try store.close()
        try lose([(.meta, DefinitionTable.key)])
        let copied = try open()
        #expect(try copied.read { try $0.definitions() } == [definition])
        // What is defined next brings the record back.
        try copied.define(TypeDefinition("app.lost-too", unit: .count, combining: .mean))
        try copied.close()
        try lose([(.upkeep, HeaderCopy.key), (.upkeep, HeaderCopy.key)])
        let mended = try open()
        #expect(try mended.read { try $0.definitions() }.count == 2)
        try mended.close()
        try lose([(.meta, DefinitionTable.key), (.upkeep, HeaderCopy.key)])
        expectError(.damaged) {
            let store = try open()
            defer { try? store.close() }
            return try store.read { try $0.definitions() }
        }
    }

    @Test("A sample in a unit that does not fit, as one that was under way when its type was defined, stops no upkeep")
    func unfitting() throws {
        var options = SampleStore.Options()
        options.limits.thinSamples = 0
        let store = try SampleStore.temporary(options: options)
        let type = SampleType("app.unfitting")
        try store.define(TypeDefinition("app.unfitting", unit: .gram, combining: .sum))
        #expect(try store.read { try $0.definitions() }.count == 1)
        DefinedTypes.forget("app.unfitting")
        try store.save(Self.sample(type, 3, .count, at: .day(0)))
        try store.save(Self.sample(.stepCount, 5, .count, at: .day(0)))
        // Nothing but that type is left, which is told.
        expectError(.mixedUnits) { while try store.maintain() {} }
        #expect(try store.read { try $0.statistics(of: .stepCount) }.sum == 5)
        expectError(.mixedUnits) { try store.read { try $0.statistics(of: type) } }
        try store.close()
    }
}
