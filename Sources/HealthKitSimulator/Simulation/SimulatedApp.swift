import Foundation
import Synchronization

/// An app, or a watch or phone by itself, that writes to the health data of a device.
public final class SimulatedApp: Sendable {
    /// What HealthKit ranks sources by (A20).
    public enum Kind: Int, Sendable { case watch, phone, app }

    /// The app that runs; what Apple's functions without a store mean, such as `HKHealthStore()`.
    @TaskLocal public static var current: SimulatedApp?

    private static let standalone = SimulatedDevice().install(bundle: "app.standalone", name: "Standalone")
    static var running: SimulatedApp { current ?? standalone }

    /// The device that it is installed on.
    public let device: SimulatedDevice
    /// What it is.
    public let kind: Kind
    /// The bundle whose grants it has: its own, or that of the app that holds the extension.
    let container: String

    private struct State {
        var revision: HKSourceRevision
        var infoKeys: Set<String> = [SimulatedApp.readingKey, SimulatedApp.writingKey]
        var isForeground = true
        var isRunning = true
    }

    private let state: Mutex<State>

    init(_ device: SimulatedDevice, kind: Kind, revision: HKSourceRevision, container: String? = nil) {
        self.device = device
        self.kind = kind
        self.container = container ?? revision.source.bundleIdentifier
        state = Mutex(State(revision: revision))
    }

    /// What the store stamps on its samples.
    public var revision: HKSourceRevision { state.withLock { $0.revision } }

    func setName(_ name: String) { state.withLock { $0.revision = $0.revision.named(name) } }

    /// The key of Info.plist that reading needs.
    public static let readingKey = "NSHealthShareUsageDescription"
    /// The key of Info.plist that writing needs.
    public static let writingKey = "NSHealthUpdateUsageDescription"

    /// Its source, without the revision.
    public var source: HKSource { revision.source }
    /// Its bundle identifier.
    public var bundle: String { revision.source.bundleIdentifier }
    /// A store as the app's code makes one.
    public var healthStore: HKHealthStore { HKHealthStore(self) }

    /// The keys of the app's Info.plist; both usage strings are there unless set otherwise.
    public var infoKeys: Set<String> {
        get { state.withLock { $0.infoKeys } }
        set { state.withLock { $0.infoKeys = newValue } }
    }

    var isForeground: Bool { state.withLock { $0.isForeground && $0.isRunning } }
    var isRunning: Bool { state.withLock { $0.isRunning } }

    /// The app comes to the front, and learns what changed meanwhile.
    public func enterForeground() {
        state.withLock { ($0.isForeground, $0.isRunning) = (true, true) }
        device.deliver()
    }

    /// The app goes to the back: it learns of changes by background delivery alone.
    public func enterBackground() { state.withLock { $0.isForeground = false } }

    /// The app ends, and with it its queries. Background deliveries stay enabled.
    public func terminate() {
        state.withLock { $0.isRunning = false }
        device.forgetQueries(of: self)
    }

    /// The app is started again; it has to execute its queries anew.
    public func launch(inForeground: Bool = true) {
        state.withLock { ($0.isForeground, $0.isRunning) = (inForeground, true) }
    }

    /// Writes a quantity as watches, phones and other apps do, without asking for authorization. Answers the sample's UUID.
    @discardableResult
    public func record(
        _ type: String, _ value: Double, _ unit: String, from start: Date, to end: Date? = nil,
        metadata: [String: Any]? = nil, device hardware: HKDevice? = nil
    ) throws -> UUID {
        let sample = HKQuantitySample(
            type: HKQuantityType(HKQuantityTypeIdentifier(rawValue: KnownType.identifier(of: type))),
            quantity: HKQuantity(unit: HKUnit(from: unit), doubleValue: value), start: start, end: end ?? start,
            device: hardware, metadata: metadata)
        try write([sample])
        return sample.uuid
    }

    /// Writes samples without asking for authorization.
    public func write(_ samples: [HKSample]) throws {
        try device.save(samples.flatMap { HealthRecord.all(of: $0, by: revision) }, by: self, asked: false)
    }
}

extension HealthRecord {
    /// A sample and, of a correlation, what it holds.
    static func all(of object: HKObject, by revision: HKSourceRevision) -> [HealthRecord] {
        guard let sample = object as? HKSample else { return [] }
        let members = (sample as? HKCorrelation)?.objects ?? []
        return members.map { HealthRecord($0, by: revision) } + [HealthRecord(sample, by: revision)]
    }
}
