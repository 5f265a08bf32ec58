import Foundation
import HealthKitSimulator

/// A device with one app that may read and write the types of the tests.
struct Bench {
    let clock = SimulatedClock()
    let device: SimulatedDevice
    let app: SimulatedApp
    let watch: SimulatedApp
    let store: HKHealthStore
    static let weight = "HKQuantityTypeIdentifierBodyMass"
    static let steps = "HKQuantityTypeIdentifierStepCount"
    let weight = HKQuantityType(HKQuantityTypeIdentifier(rawValue: Bench.weight))
    let steps = HKQuantityType(HKQuantityTypeIdentifier(rawValue: Bench.steps))

    init(_ options: SimulationOptions = SimulationOptions(), asking: Bool = true) async throws {
        device = SimulatedDevice(clock: clock, options: options)
        app = device.install(bundle: "app.weights", name: "Weights")
        watch = device.install(bundle: "com.apple.health.watch", name: "Watch", kind: .watch, product: "Watch7,1")
        store = app.healthStore
        if asking { try await store.requestAuthorization(toShare: [weight, steps], read: [weight, steps]) }
    }

    func at(_ seconds: Double) -> Date { clock.now.addingTimeInterval(seconds) }

    func sample(_ kilograms: Double, at seconds: Double = 0, sync: String? = nil, version: Int = 1) -> HKQuantitySample
    {
        let metadata: [String: Any]? = sync.map {
            [HKMetadataKeySyncIdentifier: $0, HKMetadataKeySyncVersion: NSNumber(value: version)]
        }
        return HKQuantitySample(
            type: weight, quantity: HKQuantity(unit: HKUnit(from: "kg"), doubleValue: kilograms), start: at(seconds),
            end: at(seconds), device: nil, metadata: metadata)
    }

    func changes(of type: HKSampleType? = nil, after anchor: HKQueryAnchor? = nil, limit: Int? = nil) async throws
        -> HKAnchoredObjectQueryDescriptor<HKSample>.Result
    {
        try await HKAnchoredObjectQueryDescriptor(
            predicates: [.sample(type: type ?? weight)], anchor: anchor, limit: limit
        ).result(for: store)
    }

    func values(of type: HKSampleType? = nil, _ predicate: NSPredicate? = nil) async throws -> [Double] {
        let samples = try await HKSampleQueryDescriptor(
            predicates: [.sample(type: type ?? weight, predicate: predicate)],
            sortDescriptors: [SortDescriptor(\HKSample.startDate)]
        ).result(for: store)
        return samples.compactMap { ($0 as? HKQuantitySample)?.quantity }.map { quantity in
            quantity.doubleValue(for: HKUnit(from: quantity.is(compatibleWith: HKUnit(from: "kg")) ? "kg" : "count"))
        }
    }
}

/// The code of the error that `body` throws; `nil` if it throws none.
func code(_ body: () async throws -> Void) async -> HKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? HKError)?.code
    }
}
