import Foundation
import Synchronization

/// One device with its HealthKit. Its functions are the controls; apps use it through `HKHealthStore`.
///
/// ```swift
/// import HealthKitPeer
///
/// let device = SimulatedDevice()
/// let app = device.install(bundle: "com.example.app", name: "App")
/// let watch = device.install(bundle: "com.apple.health.watch", name: "Watch", kind: .watch)
/// let now = device.clock.now
/// try watch.record("StepCount", 900, "count", from: now.addingTimeInterval(-600), to: now)
/// let peer = HealthKitPeer(store: app.healthStore, source: app.source, hasInfoKey: { app.infoKeys.contains($0) })
/// ```
public final class SimulatedDevice: Sendable {
    struct InstalledApp {
        let kind: SimulatedApp.Kind
        var name: String
        /// An app retains its device, so the device must not retain an app. An app without any reference does not run.
        weak var app: SimulatedApp?
    }

    struct State {
        var database = HealthDatabase()
        var apps: [String: InstalledApp] = [:]
        var grants: [String: [String: Grant]] = [:]
        var answer = Answer.allow
        var isLocked = false
        var isAvailable = true
        var isRestricted = false
        var earliest = Date.distantPast
        var failures: [PlannedFailure] = []
        var calls: [SimulatedCall: Int] = [:]
        var observers = ObserverBook()
        var priorities: [String: [String]] = [:]
        /// The records that were saved while the device was locked, by save.
        var journaled: [[HealthRecord]] = []
        /// Calls that have not returned.
        var hung: [CheckedContinuation<Void, Never>] = []
    }

    /// The device's clock, which moves only when a test advances it.
    public let clock: SimulatedClock
    let state: Mutex<State>

    /// Creates an empty device. `options` decides the rules that Apple leaves open.
    public init(clock: SimulatedClock = SimulatedClock(), options: SimulationOptions = SimulationOptions()) {
        self.clock = clock
        var state = State()
        state.database.options = options
        self.state = Mutex(state)
    }

    /// Installs an app. It replaces an app with the same bundle and keeps its samples, but not its grants. Keep a
    /// reference to the app, or to a store of it, for as long as it should run: the queries of an app without
    /// references end.
    public func install(
        bundle: String, name: String, version: String = "1.0", kind: SimulatedApp.Kind = .app,
        product: String = "iPhone17,1"
    ) -> SimulatedApp {
        let system = OperatingSystemVersion(majorVersion: 18, minorVersion: 0, patchVersion: 0)
        let revision = HKSourceRevision(
            source: HKSource(name: name, bundleIdentifier: bundle), version: version, productType: product,
            operatingSystemVersion: system)
        let app = SimulatedApp(self, kind: kind, revision: revision)
        let older = state.withLock { state in
            state.grants[bundle] = nil
            return state.apps.updateValue(InstalledApp(kind: kind, name: name, app: app), forKey: bundle)?.app
        }
        older?.terminate()
        state.withLock { $0.observers.forgetDeliveries(of: bundle) }
        return app
    }

    /// Installs an extension of an app. It has the app's grants, and a bundle identifier below the app's. Apple leaves
    /// open which source its samples have.
    public func installExtension(of app: SimulatedApp, suffix: String, name: String) -> SimulatedApp {
        let bundle = "\(app.bundle).\(suffix)"
        let source =
            options.extensionsAreOwnSources ? HKSource(name: name, bundleIdentifier: bundle) : app.source
        let revision = HKSourceRevision(
            source: source, version: app.revision.version, productType: app.revision.productType,
            operatingSystemVersion: app.revision.operatingSystemVersion)
        let installed = SimulatedApp(self, kind: app.kind, revision: revision, container: app.bundle)
        state.withLock { $0.apps[bundle] = InstalledApp(kind: app.kind, name: name, app: installed) }
        return installed
    }

    /// Renames a source, as an update of its app or a change of the user's language does. Its bundle identifier stays.
    public func rename(_ app: SimulatedApp, to name: String) {
        app.setName(name)
        state.withLock { $0.apps[app.bundle]?.name = name }
    }

    /// The rules that Apple leaves open.
    public var options: SimulationOptions {
        get { state.withLock { $0.database.options } }
        set { state.withLock { $0.database.options = newValue } }
    }

    /// Locks the device: queries fail, but saves succeed (A16).
    public func lock() { state.withLock { $0.isLocked = true } }

    var isLocked: Bool { state.withLock { $0.isLocked } }

    /// Unlocks the device: queries work again, and observers learn what changed.
    public func unlock() {
        let now = clock.now
        state.withLock { state in
            state.isLocked = false
            state.mergeJournal(at: now)
        }
        deliver()
    }

    /// Sets whether HealthKit exists on the device; some devices lack it.
    public func setAvailable(_ isAvailable: Bool) { state.withLock { $0.isAvailable = isAvailable } }
    var isAvailable: Bool { state.withLock { $0.isAvailable } }

    /// Sets whether a profile forbids health data.
    public func setRestricted(_ isRestricted: Bool) { state.withLock { $0.isRestricted = isRestricted } }

    /// Samples that end before this can be neither saved nor read.
    public var earliestPermittedDate: Date {
        get { state.withLock { $0.earliest } }
        set { state.withLock { $0.earliest = newValue } }
    }

    /// Runs a call of an app: counts it, and makes it fail if that is planned. Delivers the resulting news to observers
    /// afterwards.
    func perform<Answer>(_ call: SimulatedCall, _ body: (inout State) throws -> Answer) throws -> Answer {
        defer { deliver() }
        return try state.withLock { state in
            let failure = state.begin(call)
            if !state.isAvailable { throw HKError(.errorHealthDataUnavailable, "Health data is unavailable here") }
            if state.isRestricted { throw HKError(.errorHealthDataRestricted, "Health data is restricted") }
            if let failure, !failure.afterEffect { throw failure.error }
            let answer = try body(&state)
            if let failure { throw failure.error }
            return answer
        }
    }

    func save(_ records: [HealthRecord], by app: SimulatedApp, asked: Bool = true) throws {
        let now = clock.now
        try perform(asked ? .save : .record) { state in
            if records.isEmpty { throw HKError(.errorInvalidArgument, "No objects to save") }
            for record in records where asked && !(record.type.known?.isShareable ?? false) {
                SimulatedMisuse.found("\(record.type) cannot be shared")
            }
            if asked { try state.authorizeSaving(records.map(\.type), by: app) }
            let options = state.database.options
            if asked, let largest = options.largestSave, records.count > largest {
                if options.oversizeInterrupts { throw PlannedFailure.interruption }
                throw HKError(.errorDataSizeExceeded, "More objects than one save takes")
            }
            try state.database.check(records, earliest: state.earliest)
            if state.isLocked, options.journalsWhileLocked { return state.journaled.append(records) }
            state.observers.noteNews(of: state.database.save(records), at: now)
        }
    }

    /// Deletes an app's own objects; deletes nothing if one of them does not exist or belongs to another app (A10).
    func delete(_ uuids: [UUID], by app: SimulatedApp) throws {
        let now = clock.now
        try perform(.delete) { state in
            if state.isLocked { throw HKError.locked }
            if uuids.isEmpty { throw HKError(.errorInvalidArgument, "No objects to delete") }
            for uuid in uuids {
                guard let record = state.database.record(uuid), record.source == app.bundle else {
                    throw HKError(.errorInvalidArgument, "Some objects are not there or not of this app")
                }
                try state.authorizeDeleting(record.type, by: app)
            }
            state.remove(uuids, at: now)
        }
    }

    func deleteAll(_ type: HKSampleType, _ rule: SampleRule, by app: SimulatedApp) throws -> Int {
        let now = clock.now
        return try perform(.delete) { state in
            if state.isLocked { throw HKError.locked }
            try state.authorizeDeleting(type, by: app)
            let records = state.database.withTable(type) { $0.overlapping(rule.from, rule.to) }
            let uuids = records.filter { $0.source == app.bundle && rule.picks($0) }.map(\.uuid)
            state.remove(uuids, at: now)
            return uuids.count
        }
    }
}

extension SimulatedDevice.State {
    /// Saves the records of the journal, in order. Drops records that can no longer be saved.
    mutating func mergeJournal(at date: Date) {
        for records in journaled where (try? database.check(records, earliest: earliest)) != nil {
            observers.noteNews(of: database.save(records), at: date)
        }
        journaled = []
    }

    mutating func remove(_ uuids: [UUID], at date: Date) {
        var types = Set<String>()
        for uuid in uuids { types.formUnion(database.remove(uuid, at: date)) }
        observers.noteNews(of: types, at: date)
    }
}

extension HKError {
    static var locked: HKError { HKError(.errorDatabaseInaccessible, "Protected health data is inaccessible") }
}
