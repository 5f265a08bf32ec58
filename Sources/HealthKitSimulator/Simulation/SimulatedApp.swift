import Foundation
import Synchronization

/// An app that writes to the health data of a device, or a watch or phone that writes by itself.
public final class SimulatedApp: Sendable {
    /// The kinds of sources that HealthKit ranks (A20).
    public enum Kind: Int, Sendable { case watch, phone, app }

    /// The running app: the one that Apple's functions without a store refer to, such as `HKHealthStore()`.
    @TaskLocal public static var current: SimulatedApp?

    private static let standalone = SimulatedDevice().install(bundle: "app.standalone", name: "Standalone")
    static var running: SimulatedApp { current ?? standalone }

    /// The device that the app is installed on.
    public let device: SimulatedDevice
    /// The kind of source.
    public let kind: Kind
    /// The bundle whose grants apply: the app's own, or that of the app that contains the extension.
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

    /// The source revision that the store stamps on its samples.
    public var revision: HKSourceRevision { state.withLock { $0.revision } }

    func setName(_ name: String) { state.withLock { $0.revision = $0.revision.named(name) } }

    /// The Info.plist key that reading needs.
    public static let readingKey = "NSHealthShareUsageDescription"
    /// The Info.plist key that writing needs.
    public static let writingKey = "NSHealthUpdateUsageDescription"

    /// The app's source, without the revision.
    public var source: HKSource { revision.source }
    /// The app's bundle identifier.
    public var bundle: String { revision.source.bundleIdentifier }

    /// The keys of the app's Info.plist. Both usage strings are there by default.
    public var infoKeys: Set<String> {
        get { state.withLock { $0.infoKeys } }
        set { state.withLock { $0.infoKeys = newValue } }
    }

    var isForeground: Bool { state.withLock { $0.isForeground && $0.isRunning } }
    var isRunning: Bool { state.withLock { $0.isRunning } }

    /// Brings the app to the foreground. It learns what changed meanwhile.
    public func enterForeground() {
        state.withLock { ($0.isForeground, $0.isRunning) = (true, true) }
        device.deliver()
    }

    /// Sends the app to the background, where it learns of changes only by background delivery.
    public func enterBackground() { state.withLock { $0.isForeground = false } }

    /// Ends the app and its queries. Background deliveries stay enabled.
    public func terminate() {
        state.withLock { $0.isRunning = false }
        device.forgetQueries(of: self)
    }

    /// Starts the app again. It must execute its queries again.
    public func launch(inForeground: Bool = true) {
        state.withLock { ($0.isForeground, $0.isRunning) = (inForeground, true) }
    }

    /// Writes a quantity without authorization, as watches, phones and other apps do. Returns the sample's UUID.
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

    /// Writes samples without authorization.
    public func write(_ samples: [HKSample]) throws {
        try device.save(samples.flatMap { HealthRecord.all(of: $0, by: revision) }, by: self, asked: false)
    }
}
