import Testing

@testable import HealthModel

/// One value that is not finite would spoil every sum that contains it (SEMANTICS C32).
@Suite("Values that are not finite")
struct NotFiniteTests {
    private static let now = Instant(nanoseconds: 0)
    private static let hour = Instant(nanoseconds: 3_600_000_000_000)

    private static func sample(_ value: Double = 1) -> Sample { Sample(.stepCount, value, .count, at: now) }

    private static func run(_ change: (inout Workout) -> Void) -> Sample {
        var workout = Workout(.running)
        change(&workout)
        return Sample.workout(workout, from: now, to: hour)
    }

    private static func samples(_ odd: Double) -> [(name: String, sample: Sample)] {
        var plain = sample(odd)
        plain.metadata = [:]
        var number = sample()
        number.metadata = ["n": .number(odd)]
        var quantity = sample()
        quantity.metadata = ["q": .quantity(Quantity(odd, .gram))]
        var local = sample()
        local.local = ["bodyFat": .number(odd)]
        var imported = sample()
        imported.origin = .imported
        imported.original = Sample.Original(start: now, end: now, quantity: Quantity(odd, .count))
        var beneath = imported
        beneath.original = Sample.Original(
            start: now, end: now, quantity: Quantity(1, .count), metadata: ["n": .number(odd)])
        let part = WorkoutStatistics(.heartRate, from: now, to: hour, average: Quantity(odd, .countPerMinute))
        return [
            ("value", plain), ("category", Sample(.sleepAnalysis, odd, .count, at: now)),
            ("unknown type", Sample(SampleType("org.example.type"), odd, .count, at: now)),
            ("duration", Sample.workout(.running, from: now, to: hour, duration: odd)),
            ("metadata number", number), ("metadata quantity", quantity), ("local", local),
            ("original", imported), ("original metadata", beneath),
            ("energy", run { $0.energy = Quantity(odd, .kilocalorie) }),
            ("distance", run { $0.distance = Quantity(odd, .meter) }),
            ("strokes", run { $0.strokes = Quantity(odd, .count) }),
            ("flights", run { $0.flights = Quantity(odd, .count) }),
            ("statistics", run { $0.statistics = [part] }),
            (
                "event",
                run { $0.events = [WorkoutEvent(.lap, from: now, to: hour, metadata: ["n": .number(odd)])] }
            ),
            (
                "activity",
                run {
                    $0.activities = [WorkoutActivity(.running, from: now, to: hour, duration: Quantity(odd, .second))]
                }
            ),
        ]
    }

    @Test("A value that is not finite is refused in every field that holds a number")
    func everyField() {
        for odd in [Double.nan, .infinity, -.infinity, Double(nan: 7, signaling: false)] {
            for (name, sample) in Self.samples(odd) {
                #expect(throws: ModelError.self, "\(name) \(odd)") { try sample.validate() }
            }
        }
        for (name, sample) in Self.samples(1) { #expect(throws: Never.self, "\(name)") { try sample.validate() } }
    }

    @Test("A value that becomes infinite in the canonical unit of its type is refused")
    func inCanonicalUnit() {
        let sample = Sample(.bodyMass, .greatestFiniteMagnitude, HealthUnit.pound, at: Self.now)
        #expect(throws: Never.self) { try sample.validate() }
        let steps = Sample(.distanceWalkingRunning, .greatestFiniteMagnitude, .kilometer, at: Self.now)
        #expect(throws: ModelError.self) { try steps.validate() }
    }
}
