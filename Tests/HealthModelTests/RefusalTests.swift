import Foundation
import Testing

@testable import HealthModel

/// The model refuses invalid values and gives the reason.
@Suite struct RefusalTests {
    private let now = Instant(nanoseconds: 0)

    @Test("A workout with an unknown end has no implied duration, and cannot be stored without one")
    func openWorkout() throws {
        let open = Sample.workout(.running, from: now, to: .distantFuture)
        #expect(open.duration == nil)
        #expect(throws: ModelError.durationMissing) { try open.validate() }
        let paused = Sample.workout(.running, from: now, to: .distantFuture, duration: 90)
        try paused.validate()
        #expect(paused.duration == 90)
        #expect(Sample.workout(.running, from: now, to: now + 5_000_000_000).duration == 5)
    }

    @Test("A sample with the UUID of all zeros is refused")
    func zero() throws {
        let sample = Sample(.stepCount, 1, .count, at: now, id: .zero)
        #expect(throws: ModelError.zeroIdentifier) { try sample.validate() }
    }

    @Test("A dimension with the one power that has no negation is refused, and all others can be described")
    func dimensions() throws {
        let refusal = ModelError.numberOutOfRange(field: "mass")
        #expect(error(#"{"mass":-128}"#, HealthUnit.Dimension.self) == refusal)
        let json = Data(#"[{"mass":-127,"length":127}]"#.utf8)
        let read = try JSONDecoder().decode([HealthUnit.Dimension].self, from: json)
        #expect(read.map(\.description) == ["length^127/mass^127"])
    }

    @Test("Negative counts are refused when a sample is stored, and do not trap before")
    func negativeCounts() throws {
        var sample = Sample(.stepCount, 1, .count, at: now)
        let bytes = sample.contentBytes
        sample.count = -1
        sample.multiplicity = -7
        #expect(sample.contentBytes != bytes)
        #expect(throws: ModelError.numberOutOfRange(field: "count")) { try sample.validate() }
        let prefix = DerivedID.Prefix(type: .stepCount, source: SourceIdentity(name: "S"))
        #expect(
            DerivedID.id(prefix, start: 0, end: 0, value: 1, multiplicity: -1)
                != DerivedID.id(prefix, start: 0, end: 0, value: 1, multiplicity: 0))
    }

    private func error<Value: Decodable>(_ json: String, _ type: Value.Type) -> ModelError? {
        do {
            _ = try JSONDecoder().decode([Value].self, from: Data("[\(json)]".utf8))
            return nil
        } catch { return error as? ModelError }
    }

    @Test(
        "A malformed date and a date out of range are different errors, and an unknown workout name is a third")
    func texts() {
        for text in ["yesterday", "2024-05-31", "2024-02-30T00:00:00Z", "2024-05-31T08:00:00.1234567890Z"] {
            #expect(error("\"\(text)\"", Instant.self) == .malformedDate, "\(text)")
        }
        #expect(error("\"1604-01-01T00:00:00Z\"", Instant.self) == .instantOutOfRange)
        #expect(error("\"2024-05-31T08:00:00.123456789Z\"", Instant.self) == nil)
        #expect(error("\"nonsense\"", WorkoutActivityType.self) == .unknownActivity)
    }
}
