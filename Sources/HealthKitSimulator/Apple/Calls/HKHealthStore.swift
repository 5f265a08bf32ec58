import Foundation

// Immutable; the state that it represents is behind the device's lock.
public class HKHealthStore: NSObject, @unchecked Sendable {
    let app: SimulatedApp

    init(_ app: SimulatedApp) { self.app = app }

    public override convenience init() { self.init(SimulatedApp.running) }

    public class func isHealthDataAvailable() -> Bool { SimulatedApp.running.device.isAvailable }

    public func authorizationStatus(for type: HKObjectType) -> HKAuthorizationStatus {
        app.device.sharing(of: type, for: app)
    }

    public func requestAuthorization(toShare typesToShare: Set<HKSampleType>, read typesToRead: Set<HKObjectType>)
        async throws
    {
        try await app.device.returning {
            try app.device.requestAuthorization(share: typesToShare, read: typesToRead, for: app)
        }
    }

    public func statusForAuthorizationRequest(
        toShare typesToShare: Set<HKSampleType>, read typesToRead: Set<HKObjectType>
    ) async throws -> HKAuthorizationRequestStatus {
        try await app.device.returning {
            try app.device.requestStatus(share: typesToShare, read: typesToRead, for: app)
        }
    }

    public func earliestPermittedSampleDate() -> Date { app.device.earliestPermittedDate }

    public func save(_ objects: [HKObject]) async throws {
        try await app.device.returning {
            try app.device.save(objects.flatMap { HealthRecord.all(of: $0, by: app.revision) }, by: app)
        }
    }

    public func delete(_ objects: [HKObject]) async throws {
        try await app.device.returning { try app.device.delete(objects.map(\.uuid), by: app) }
    }

    public func deleteObjects(of objectType: HKObjectType, predicate: NSPredicate) async throws -> Int {
        guard let type = objectType as? HKSampleType else { return 0 }
        return try await app.device.returning {
            try app.device.deleteAll(type, SampleRule.rule(of: predicate), by: app)
        }
    }

    public func execute(_ query: HKQuery) {
        if let query = query as? HKObserverQuery { app.device.execute(query, of: app) }
    }

    public func stop(_ query: HKQuery) {
        if let query = query as? HKObserverQuery { app.device.stop(query) }
    }

    public func enableBackgroundDelivery(for type: HKObjectType, frequency: HKUpdateFrequency) async throws {
        try await app.device.returning { try app.device.enableDelivery(type, frequency, of: app) }
    }

    public func disableBackgroundDelivery(for type: HKObjectType) async throws {
        try await app.device.returning { try app.device.enableDelivery(type, nil, of: app) }
    }
}

extension SimulatedApp {
    /// A new store, as the app's code creates it.
    public var healthStore: HKHealthStore { HKHealthStore(self) }
}

extension HKSource {
    /// The source of this app: the simulated app that is running.
    public class func `default`() -> HKSource { SimulatedApp.running.source }
}

extension HKObject {
    public var sourceRevision: HKSourceRevision { stamp ?? SimulatedApp.running.revision }
}
