import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator

/// A device with an app that talks to it through the peer, and a watch that writes by itself.
struct PeerBench {
    static let types: Set<SampleType> = [
        .bodyMass, .stepCount, .dietaryEnergyConsumed, .dietaryProtein, .dietaryFiber, .sleepAnalysis, .workout,
        .activeEnergyBurned, .distanceWalkingRunning, .bloodPressureSystolic, .bloodPressureDiastolic,
    ]

    let clock = SimulatedClock()
    let device: SimulatedDevice
    let app: SimulatedApp
    let watch: SimulatedApp
    let peer: HealthKitPeer

    init(_ options: SimulationOptions = SimulationOptions(), asking: Bool = true) async throws {
        device = SimulatedDevice(clock: clock, options: options)
        let app = device.install(bundle: "app.weights", name: "Weights")
        self.app = app
        watch = device.install(bundle: "com.apple.health.watch", name: "Watch", kind: .watch, product: "Watch7,1")
        peer = PeerBench.peer(of: app)
        if asking { try await peer.requestAuthorization(AuthorizationRequest(read: Self.types, write: Self.types)) }
    }

    static func peer(of app: SimulatedApp, deadline: @escaping @Sendable () async -> Void = {}) -> HealthKitPeer {
        HealthKitPeer(
            store: app.healthStore, source: app.source, hasInfoKey: { app.infoKeys.contains($0) }, deadline: deadline)
    }

    func instant(_ seconds: Double) throws -> Instant { try Instant(clock.now.addingTimeInterval(seconds)) }

    func weight(_ value: Double, _ name: String, at seconds: Double = 0, version: Int64 = 1) throws -> Sample {
        var sample = Sample(.bodyMass, value, .kilogram, at: try instant(seconds), syncIdentifier: name)
        sample.version = version
        return sample
    }

    /// Pushes saves, and answers their outcomes.
    func save(_ samples: [Sample], group: [Sample] = []) async -> [PushOutcome] {
        await peer.push(
            samples.enumerated().map { PushOperation(sequence: UInt64($0), kind: .save($1), group: group) })
    }

    /// Pulls until nothing is left.
    func pullAll(_ type: SampleType, limit: Int = 3) async throws -> (added: [PulledSample], deleted: [PulledDeletion])
    {
        var all: (added: [PulledSample], deleted: [PulledDeletion]) = ([], [])
        var token: [UInt8]?
        while true {
            let page = try await peer.pull(PullRequest(type: type, token: token, limit: limit))
            all.added += page.additions
            all.deleted += page.deletions
            token = page.token
            if page.isDrained { return all }
        }
    }

    func contents(_ type: SampleType) -> [SimulatedSample] {
        device.contents(of: type.identifier).sorted { $0.start < $1.start }
    }

    /// A meal of three nutrients.
    func porridge(at seconds: Double, version: Int64) throws -> [Sample] {
        Meal(
            id: "log-17", at: try instant(seconds), name: "Porridge", energy: Quantity(310, .kilocalorie),
            protein: .grams(11), fiber: .grams(8.2)
        ).samples().map { sample in
            var sample = sample
            sample.version = version
            return sample
        }
    }
}

extension PushOutcome {
    var isDone: Bool { if case .done = self { true } else { false } }
    var isRefused: Bool { if case .refused = self { true } else { false } }
}

extension PeerBench {
    /// Pushes the deletion of a sample that was pushed before.
    func delete(_ sample: Sample, idAtPeer: SampleID? = nil, synced: Bool = true) async -> PushOutcome? {
        let deleted = DeletedSample(
            id: sample.id, type: sample.type, source: sample.source.identity,
            syncIdentifier: synced ? sample.syncIdentifier : nil, version: sample.version,
            modified: ChangeClock(time: sample.start, replica: 1))
        return await peer.push([PushOperation(sequence: 1, kind: .delete(deleted), idAtPeer: idAtPeer)]).first
    }
}
