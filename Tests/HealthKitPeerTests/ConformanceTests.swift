import Foundation
import HealthKVPeerConformance
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// What every peer must hold to holds for HealthKit, as it is simulated, with either setting of what Apple leaves open.
@Suite struct ConformanceTests {
    @Test("HealthKit's adapter is a peer like any other", arguments: [false, true])
    func conformance(other: Bool) async throws {
        var options = SimulationOptions()
        if other {
            (options.equalVersionReplaces, options.limitCountsDeletions) = (true, true)
            (options.observerFiresAtStart, options.anchorsPassInvisible) = (false, false)
        }
        let settings = options
        let findings = await PeerConformance.run {
            let bench = try await PeerBench(settings)
            return PeerTrial(
                bench.peer, write: { try bench.write($0) },
                writeOwn: { sample in
                    try bench.app.record("BodyMass", sample.quantity.value, "kg", from: sample.start.date)
                },
                reopen: { PeerBench.peer(of: bench.app) },
                delete: { bench.delete(at: $0.start, $0.type) })
        }
        for finding in findings { Issue.record("\(finding)") }
    }
}

extension PeerBench {
    /// The watch writes a sample.
    func write(_ sample: Sample) throws {
        let type = HKQuantityType(HKQuantityTypeIdentifier(rawValue: sample.type.identifier))
        let app = device.install(bundle: sample.source.bundle, name: sample.source.name)
        let metadata: [String: Any]? = sample.syncIdentifier.map {
            [HKMetadataKeySyncIdentifier: $0, HKMetadataKeySyncVersion: NSNumber(value: sample.version)]
        }
        try app.write([
            HKQuantitySample(
                type: type,
                quantity: HKQuantity(
                    unit: HKUnit(from: sample.quantity.unit.symbol), doubleValue: sample.quantity.value),
                start: sample.start.date, end: sample.end.date, device: nil, metadata: metadata)
        ])
    }

    /// The user deletes what starts at a time.
    func delete(at start: Instant, _ type: SampleType) {
        for sample in contents(type) where sample.start == start.date { device.userDeletes(sample.uuid) }
    }
}
