import Foundation
import HealthKVSync

#if canImport(HealthKit) && !SimulatedHealthKit
    import HealthKit
#else
    import HealthKitSimulator
#endif

// Conversions between our values and HealthKit's. Nothing here calls HealthKit's store.
extension HealthKitGateway {
    func healthType(_ type: SampleType) throws(GatewayError) -> HKSampleType {
        guard type.catalogNumber != nil else { throw .invalid("HealthKit knows no type \(type)") }
        switch type.kind {
        case .quantity: return HKQuantityType(HKQuantityTypeIdentifier(rawValue: type.identifier))
        case .category: return HKCategoryType(HKCategoryTypeIdentifier(rawValue: type.identifier))
        case .correlation: return HKCorrelationType(HKCorrelationTypeIdentifier(rawValue: type.identifier))
        case .workout: return HKObjectType.workoutType()
        case .other: throw .invalid("HealthKit knows no type \(type)")
        }
    }

    func anchor(_ token: [UInt8]) throws(GatewayError) -> HKQueryAnchor {
        let anchor = try? NSKeyedUnarchiver.unarchivedObject(ofClass: HKQueryAnchor.self, from: Data(token))
        guard let anchor else { throw .expired }
        return anchor
    }

    func date(_ instant: Instant) -> Date {
        instant == .distantFuture ? .distantFuture : instant == .distantPast ? .distantPast : instant.date
    }

    /// Converts a date back; `nil` for a date that no sample can have.
    func instant(_ date: Date) -> Instant? {
        date == .distantFuture ? .distantFuture : date == .distantPast ? .distantPast : try? Instant(date)
    }

    /// Returns `true` if this app or one of its extensions wrote the sample.
    func isOwn(_ sample: HKSample) -> Bool {
        isReplaceable(sample) || extensions.contains(sample.sourceRevision.source.bundleIdentifier)
    }

    /// Returns `true` if HealthKit lets this process replace and delete the sample.
    func isReplaceable(_ sample: HKSample) -> Bool {
        sample.sourceRevision.source.bundleIdentifier == source.bundleIdentifier
    }

    func predicate(_ identifiers: Set<String>) -> NSPredicate {
        HKQuery.predicateForObjects(withMetadataKey: HKMetadataKeySyncIdentifier, allowedValues: Array(identifiers))
    }

    func quantity(_ quantity: Quantity) -> HKQuantity {
        HKQuantity(unit: HKUnit(from: quantity.unit.symbol), doubleValue: quantity.value)
    }

    func healthValue(_ value: MetadataValue) -> Any {
        switch value {
        case .string(let text): text
        case .number(let number): NSNumber(value: number)
        case .bool(let flag): flag
        case .date(let instant): date(instant)
        case .quantity(let quantity): self.quantity(quantity)
        }
    }

    func metadata(of sample: Sample) -> [String: Any] {
        var metadata = sample.metadata.mapValues(healthValue)
        metadata[HKMetadataKeySyncIdentifier] = sample.syncIdentifier
        metadata[HKMetadataKeySyncVersion] = NSNumber(value: sample.version)
        if sample.isUserEntered { metadata[HKMetadataKeyWasUserEntered] = true }
        if let zone = sample.timeZone { metadata[HKMetadataKeyTimeZone] = zone }
        if let group = sample.group { metadata[OwnKey.group] = group }
        if sample.type == .workout { metadata[OwnKey.duration] = sample.duration.map { NSNumber(value: $0) } }
        if let workout = sample.workout, workout.activities.isEmpty { metadata[OwnKey.plain] = true }
        return metadata
    }

    func healthSample(_ sample: Sample) throws(GatewayError) -> HKSample {
        let (start, end) = (date(sample.start), date(sample.end))
        let device = sample.device.map { healthDevice($0) }
        let type = try healthType(sample.type)
        if let type = type as? HKQuantityType {
            return HKQuantitySample(
                type: type, quantity: quantity(sample.quantity), start: start, end: end, device: device,
                metadata: metadata(of: sample))
        }
        guard let type = type as? HKCategoryType, let value = sample.categoryValue else {
            throw .invalid("\(sample.type) cannot be sent by itself")
        }
        return HKCategorySample(
            type: type, value: value, start: start, end: end, device: device, metadata: metadata(of: sample))
    }

    func healthDevice(_ device: Device) -> HKDevice {
        HKDevice(
            name: device.name, manufacturer: device.manufacturer, model: device.model,
            hardwareVersion: device.hardwareVersion, firmwareVersion: device.firmwareVersion,
            softwareVersion: device.softwareVersion, localIdentifier: device.localIdentifier,
            udiDeviceIdentifier: device.udiDeviceIdentifier)
    }

    func ours(_ device: HKDevice) -> Device {
        Device(
            name: device.name, manufacturer: device.manufacturer, model: device.model,
            hardwareVersion: device.hardwareVersion, firmwareVersion: device.firmwareVersion,
            softwareVersion: device.softwareVersion, localIdentifier: device.localIdentifier,
            udiDeviceIdentifier: device.udiDeviceIdentifier)
    }

    func ownValue(_ value: Any) -> MetadataValue? {
        if let text = value as? String { return .string(text) }
        if let date = value as? Date { return instant(date).map { .date($0) } }
        // A real Boolean either has the type `Bool`, or is the same object as the Boolean `NSNumber`.
        if let flag = value as? Bool, type(of: value) == Bool.self || value as AnyObject === NSNumber(value: flag) {
            return .bool(flag)
        }
        if let number = value as? NSNumber { return .number(number.doubleValue) }
        guard let quantity = value as? HKQuantity else { return nil }
        return MetadataUnits.all.first { quantity.is(compatibleWith: HKUnit(from: $0.symbol)) }.map {
            .quantity(Quantity(quantity.doubleValue(for: HKUnit(from: $0.symbol)), $0))
        }
    }

    func configuration(_ type: WorkoutActivityType) -> HKWorkoutConfiguration {
        let configuration = HKWorkoutConfiguration()
        configuration.activityType = HKWorkoutActivityType(rawValue: UInt(type.rawValue)) ?? .other
        return configuration
    }

    func healthActivity(_ activity: WorkoutActivity) -> HKWorkoutActivity {
        HKWorkoutActivity(
            workoutConfiguration: configuration(activity.activityType), start: date(activity.start),
            end: activity.end == .distantFuture ? nil : date(activity.end),
            metadata: activity.metadata.isEmpty ? nil : activity.metadata.mapValues(healthValue))
    }

    func ours(_ activity: HKWorkoutActivity) -> WorkoutActivity? {
        let end = activity.endDate.map { try? Instant($0) } ?? .distantFuture
        guard let start = try? Instant(activity.startDate), let end else { return nil }
        return WorkoutActivity(
            WorkoutActivityType(rawValue: UInt32(activity.workoutConfiguration.activityType.rawValue)), from: start,
            to: end, duration: Quantity(activity.duration, .second), id: SampleID(activity.uuid),
            metadata: (activity.metadata ?? [:]).compactMapValues(ownValue),
            statistics: ours(activity.allStatistics), events: ours(activity.workoutEvents))
    }

    func content(of workout: HKWorkout) -> Workout {
        var content = Workout(WorkoutActivityType(rawValue: UInt32(workout.workoutActivityType.rawValue)))
        content.events = ours(workout.workoutEvents ?? [])
        content.activities = workout.workoutActivities.compactMap { ours($0) }
        content.statistics = ours(workout.allStatistics)
        WorkoutPart.setTotals(of: &content)
        return content
    }

    func ours(_ events: [HKWorkoutEvent]) -> [WorkoutEvent] {
        events.compactMap { event in
            guard let start = try? Instant(event.dateInterval.start), let end = try? Instant(event.dateInterval.end)
            else { return nil }
            return WorkoutEvent(
                WorkoutEvent.Kind(rawValue: UInt32(event.type.rawValue)), from: start, to: end,
                metadata: (event.metadata ?? [:]).compactMapValues(ownValue))
        }
    }

    func ours(_ statistics: [HKQuantityType: HKStatistics]) -> [WorkoutStatistics] {
        statistics.compactMap { self.statistics($0.key, $0.value) }.sorted { $0.type < $1.type }
    }

    func statistics(_ healthType: HKQuantityType, _ statistics: HKStatistics) -> WorkoutStatistics? {
        let type = SampleType(healthType.identifier)
        guard let unit = type.canonicalUnit, let start = try? Instant(statistics.startDate),
            let end = try? Instant(statistics.endDate)
        else { return nil }
        func ours(_ quantity: HKQuantity?) -> Quantity? {
            quantity.map { Quantity($0.doubleValue(for: HKUnit(from: unit.symbol)), unit) }
        }
        return WorkoutStatistics(
            type, from: start, to: end, sum: ours(statistics.sumQuantity()),
            average: ours(statistics.averageQuantity()),
            minimum: ours(statistics.minimumQuantity()), maximum: ours(statistics.maximumQuantity()))
    }
}

/// Converts HealthKit's samples of one type to ours. Computes values that many samples share only once: units are
/// parsed from text, and sources are built from several parts.
struct SampleReader {
    private let gateway: HealthKitGateway
    private let type: SampleType
    private let unit: HealthUnit?
    private let healthUnit: HKUnit?
    private var sources = KnownObjects<HKSourceRevision, KnownSource>()
    private var devices = KnownObjects<HKDevice, Device>()

    init(gateway: HealthKitGateway, type: SampleType) {
        self.gateway = gateway
        self.type = type
        unit = type.canonicalUnit
        healthUnit = type.kind == .quantity ? unit.map { HKUnit(from: $0.symbol) } : nil
    }

    /// Returns a sample as the engine takes it, or `nil` for a sample that the engine cannot hold and for one that
    /// comes with another sample.
    mutating func pulled(_ sample: HKSample, _ group: String?) -> PulledSample? {
        let writer = writer(of: sample)
        if comesWithAnother(sample, writer) { return nil }
        return ours(sample, writer.source, group).map { PulledSample($0, isOwn: writer.isOwn) }
    }

    /// Returns the outline of a sample that ``pulled(_:_:)`` would return.
    mutating func outline(of sample: HKSample) -> SampleOutline? {
        let writer = writer(of: sample)
        guard !comesWithAnother(sample, writer), unit != nil, let start = try? Instant(sample.startDate),
            sample.endDate == .distantFuture || (try? Instant(sample.endDate)) != nil
        else { return nil }
        return SampleOutline(idAtPeer: SampleID(sample.uuid), start: start, isOwn: writer.isOwn)
    }

    private func comesWithAnother(_ sample: HKSample, _ writer: KnownSource) -> Bool {
        writer.isOwn && (type.kind == .correlation || sample.metadata?[OwnKey.workout] != nil)
    }

    private mutating func ours(_ sample: HKSample, _ source: Source, _ group: String?) -> Sample? {
        guard let start = try? Instant(sample.startDate) else { return nil }
        let end = sample.endDate == .distantFuture ? Instant.distantFuture : try? Instant(sample.endDate)
        guard let end, let quantity = quantity(of: sample) else { return nil }
        var pulled = Sample(
            type, quantity.value, quantity.unit, from: start, to: end, source: source,
            id: SampleID(sample.uuid), origin: .imported,
            device: sample.device.map { device in devices.value(of: device) { gateway.ours(device) } }, group: group)
        pulled.count = max(1, (sample as? HKQuantitySample)?.count ?? 1)
        // Most samples have no metadata.
        if let metadata = sample.metadata, !metadata.isEmpty { read(metadata, into: &pulled) }
        if let workout = sample as? HKWorkout {
            pulled.workout = gateway.content(of: workout)
            let isPlain = sample.metadata?[OwnKey.plain] != nil && workout.workoutActivities.count < 2
            if isPlain { pulled.workout?.activities = [] }
        }
        if sample is HKCorrelation { pulled.group = group ?? pulled.group ?? sample.uuid.uuidString }
        return pulled
    }

    private func read(_ given: [String: Any], into pulled: inout Sample) {
        var metadata = given
        let identifier = metadata.removeValue(forKey: HKMetadataKeySyncIdentifier) as? String
        let version = (metadata.removeValue(forKey: HKMetadataKeySyncVersion) as? NSNumber)?.int64Value
        let wasEntered = metadata.removeValue(forKey: HKMetadataKeyWasUserEntered).flatMap { $0 as? Bool }
        let zone = metadata.removeValue(forKey: HKMetadataKeyTimeZone) as? String
        let ownGroup = metadata.removeValue(forKey: OwnKey.group) as? String
        let duration = (metadata.removeValue(forKey: OwnKey.duration) as? NSNumber)?.doubleValue
        metadata.removeValue(forKey: OwnKey.plain)
        (pulled.syncIdentifier, pulled.version, pulled.timeZone) = (identifier, version ?? 0, zone)
        pulled.isUserEntered = wasEntered ?? false
        pulled.metadata = metadata.compactMapValues(gateway.ownValue)
        pulled.group = ownGroup ?? pulled.group
        if type == .workout, let duration, duration.isFinite { pulled.quantity = Quantity(duration, .second) }
    }

    private func quantity(of sample: HKSample) -> Quantity? {
        guard let unit else { return nil }
        switch sample {
        case let sample as HKQuantitySample:
            return healthUnit.map { Quantity(sample.quantity.doubleValue(for: $0), unit) }
        case let sample as HKCategorySample: return Quantity(Double(sample.value), unit)
        case let sample as HKWorkout: return Quantity(sample.duration, unit)
        default: return Quantity(1, unit)
        }
    }

    private mutating func writer(of sample: HKSample) -> KnownSource {
        let revision = sample.sourceRevision
        return sources.value(of: revision) {
            let system = revision.operatingSystemVersion
            let source = Source(
                bundle: revision.source.bundleIdentifier, name: revision.source.name, version: revision.version,
                product: revision.productType,
                system: "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)")
            return KnownSource(source, isOwn: gateway.isOwn(sample))
        }
    }
}

/// A source, and whether it is this app or one of its extensions. It is an object because it is passed along for each
/// sample.
private final class KnownSource {
    let source: Source
    let isOwn: Bool

    init(_ source: Source, isOwn: Bool) { (self.source, self.isOwn) = (source, isOwn) }
}

/// Values made from objects that HealthKit returns repeatedly. The objects are kept alive, so that no other object gets
/// the same address.
private struct KnownObjects<Object: AnyObject, Value> {
    private var values: [ObjectIdentifier: (object: Object, value: Value)] = [:]
    private var last: (object: Object, value: Value)?

    mutating func value(of object: Object, _ make: () -> Value) -> Value {
        // Most objects are the same as the one before.
        if let last, last.object === object { return last.value }
        if let known = values[ObjectIdentifier(object)] {
            last = known
            return known.value
        }
        let made = (object: object, value: make())
        values[ObjectIdentifier(object)] = made
        last = made
        return made.value
    }
}

extension GatewayError {
    /// Converts an error by its code alone: HealthKit's description of an error may contain a value.
    init(_ error: any Error) {
        if let error = error as? GatewayError {
            self = error
            return
        }
        guard let error = error as? HKError else {
            self = .other("\(type(of: error))")
            return
        }
        switch error.code {
        case .errorHealthDataUnavailable: self = .unavailable
        case .errorHealthDataRestricted: self = .restricted
        case .errorAuthorizationDenied, .errorRequiredAuthorizationDenied: self = .denied
        case .errorAuthorizationNotDetermined: self = .notDetermined
        case .errorDatabaseInaccessible: self = .locked
        case .errorUserCanceled: self = .cancelled
        case .errorInvalidArgument, .errorDataSizeExceeded: self = .invalid("HealthKit's error \(error.code.rawValue)")
        default: self = .other("HealthKit's error \(error.code.rawValue)")
        }
    }
}
