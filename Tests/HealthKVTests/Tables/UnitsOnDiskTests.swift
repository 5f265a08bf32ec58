import ColumnFormat
import Testing
import TestSupport

@testable import HealthKV

/// Units and types beyond the fixed numbers.
@Suite struct UnitsOnDiskTests {
    private let source = Source(name: "Monitor")

    @Test("A unit without a fixed number is kept by name, found again after opening, and converted in columns")
    func reopened() throws {
        let folder = TemporaryFolder()
        let glucose = try HealthUnit(symbol: "mmol<180.1558800000541>/L")
        let store = try SampleStore.open(at: folder.path)
        var batch = SampleBatch()
        let kinds = [
            batch.kind(.bloodGlucose, glucose, source: source),
            batch.kind(.bloodGlucose, .milligramPerDeciliter, source: source),
        ]
        for row in 0..<4_000 {
            batch.append(
                kind: kinds[row / 1_000 % 2], start: .day(0, row * 60), end: .day(0, row * 60),
                value: row / 1_000 % 2 == 0 ? 5.5 : 99)
        }
        #expect(try store.importBatch(batch).inserted == 4_000)
        #expect(try store.importBatch(batch).unchanged == 4_000)
        try store.save(Sample(.heartRate, 1.1, try HealthUnit(symbol: "Hz"), at: .day(1)))
        try store.expectClean()
        try store.close()
        let again = try SampleStore.open(at: folder.path)
        let read = try again.read { try $0.samples(of: .bloodGlucose, limit: 1) }
        #expect(read[0].quantity == Quantity(5.5, glucose))
        // The id follows from the value in the canonical unit, whatever the number of the unit.
        #expect(try again.read { try $0.sample(id: read[0].id) } == read[0])
        let series = try again.read { try $0.series(.bloodGlucose) }
        #expect(Set(series.values) == [99.085734000029755, 99] && series.unit == .milligramPerDeciliter)
        #expect(try again.read { try $0.series(.heartRate) }.values == [66])
        try again.expectClean()
        try again.rebuild()
        try again.expectClean()
        #expect(try again.importBatch(batch).unchanged == 4_000)
        try again.close()
    }

    @Test("A store that numbered a type itself, before it had a fixed number, goes on with its own number")
    func ownNumber() throws {
        try withStore { store in
            try store.core.transact { txn in
                // As a release did that did not know the type.
                let number = try NameTable.addName(.type, NameCoding.encode(type: .heartRate), in: &txn)
                #expect(number >= 1 << 16)
            }
            try store.save(Sample(.heartRate, 60, .countPerMinute, at: .day(1)))
            try store.save(Sample(.respiratoryRate, 14, .countPerMinute, at: .day(1)))
            let numbers = try store.read { txn in
                (
                    try NameTable.number(of: .heartRate, in: txn.snapshot),
                    try NameTable.number(of: .respiratoryRate, in: txn.snapshot)
                )
            }
            #expect(numbers.0! >= 1 << 16 && numbers.1 == SampleType.respiratoryRate.catalogNumber)
            #expect(try store.read { try $0.samples(of: .heartRate) }.map(\.quantity.value) == [60])
            #expect(try store.read { try $0.types() }.map(\.type) == [.heartRate, .respiratoryRate])
        }
    }

    @Test("A unit that does not fit its type is refused with both units, and nothing is stored")
    func refused() throws {
        try withStore { (store: SampleStore) throws in
            var text = ""
            do {
                try store.save(Sample(.bloodGlucose, 5, .millimeterOfMercury, at: .day(1)))
            } catch { text = "\(error)" }
            #expect(text.contains("mmHg") && text.contains("mg/dL"))
            #expect(try store.read { try $0.count() } == 0)
        }
    }

    @Test("A workout's parts are checked: units, spans, and that only workouts have them")
    func workouts() throws {
        let start = Instant.day(1)
        var bad = Sample.workout(.running, from: start, to: start + 1, energy: Quantity(1, .meter))
        #expect(throws: ModelError.incompatibleUnits(from: "m", to: "kcal")) { try bad.validate() }
        bad = .workout(
            Workout(.running, events: [WorkoutEvent(.lap, from: start + 1, to: start)]), from: start, to: start)
        #expect(throws: ModelError.startAfterEnd) { try bad.validate() }
        bad = Sample(.stepCount, 1, .count, at: start)
        bad.workout = Workout(.running)
        #expect(throws: ModelError.misplacedField("workout")) { try bad.validate() }
        let many = [WorkoutEvent](
            repeating: WorkoutEvent(.lap, from: start, to: start), count: Sample.workoutPartLimit + 1)
        bad = .workout(Workout(.running, events: many), from: start, to: start)
        #expect(throws: ModelError.numberOutOfRange(field: "parts of a workout")) { try bad.validate() }
        #expect(throws: ModelError.numberOutOfRange(field: "category value")) {
            try Sample(.sleepAnalysis, 1.5, .count, at: start).validate()
        }
        #expect(Sample(category: .sleepAnalysis, 4, from: start, to: start).categoryValue == 4)
    }
}
