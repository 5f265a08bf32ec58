import Foundation
import HealthKitSimulator
import Testing

/// Controls of the simulator accept the same short names of types as recording does.
@Suite("Names of types")
struct TypeNameTests {
    @Test("Access, contents, priorities, condensing and deleting accept the short name of a type, as recording does")
    func shortNames() async throws {
        let bench = try await Bench(asking: false)
        try await bench.store.requestAuthorization(toShare: [bench.weight], read: [bench.weight])
        bench.device.setAccess(of: bench.app, to: "BodyMass", reading: .denied, sharing: .denied)
        #expect(bench.store.authorizationStatus(for: bench.weight) == .sharingDenied)
        for minute in 0..<3 {
            try bench.watch.record("StepCount", 10, "count", from: bench.at(Double(minute * 60)))
        }
        #expect(bench.device.contents(of: "StepCount").count == 3)
        #expect(bench.device.contents(of: "stepCount").count == 3)
        #expect(bench.device.contents(of: Bench.steps).count == 3)
        #expect(!bench.device.isWakingStopped(bench.app, for: "StepCount"))
        bench.device.setPriority(of: ["app.weights"], for: "StepCount")
        #expect(
            bench.device.condense("StepCount", of: "com.apple.health.watch", from: bench.at(-60), to: bench.at(600))
                == 3
        )
        #expect(bench.device.userDeletesAll(of: "StepCount") == 1)
    }

    @Test("An answer that allows some types accepts their short names")
    func answers() async throws {
        let bench = try await Bench(asking: false)
        bench.device.answerRequests(.allowOnly(reading: ["StepCount"], sharing: ["BodyMass"]))
        try await bench.store.requestAuthorization(
            toShare: [bench.weight, bench.steps], read: [bench.weight, bench.steps])
        #expect(bench.store.authorizationStatus(for: bench.weight) == .sharingAuthorized)
        #expect(bench.store.authorizationStatus(for: bench.steps) == .sharingDenied)
    }

    @Test("A name of no type is reported as misuse")
    func unknown() async throws {
        let bench = try await Bench()
        let found = await SimulatedMisuse.recording {
            bench.device.setAccess(of: bench.app, to: "BodyMas", reading: .denied)
            _ = bench.device.contents(of: "HKQuantityTypeIdentifierBodyMas")
            bench.device.answerRequests(.allowOnly(reading: ["BodyMas"], sharing: []))
        }
        #expect(found.count == 3 && found.allSatisfy { $0.contains("BodyMas") }, "\(found)")
    }
}
