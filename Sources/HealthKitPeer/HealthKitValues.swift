import Foundation
import HealthKVSync

#if canImport(HealthKit) && !SimulatedHealthKit
    import HealthKit
#else
    import HealthKitSimulator
#endif

// Between our values and HealthKit's. Nothing here calls HealthKit's store.
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

    /// The other way round; `nil` for a date that no sample can have.
    func instant(_ date: Date) -> Instant? {
        date == .distantFuture ? .distantFuture : date == .distantPast ? .distantPast : try? Instant(date)
    }

    /// Whether this app or one of its extensions wrote it.
    func isOwn(_ sample: HKSample) -> Bool {
        isReplaceable(sample) || extensions.contains(sample.sourceRevision.source.bundleIdentifier)
    }

    /// Whether HealthKit lets this process replace and delete it.
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
        // Only true truth values are one and the same object as, or of the type of, a truth value.
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

/// Turns HealthKit's samples of one type into ours. What many samples share is found once: units are parsed from text, and sources
/// are made of several.
struct SampleReader {
    private let gateway: HealthKitGateway
    private let type: SampleType
    private let unit: HealthUnit?
    private let healthUnit: HKUnit?
    /// By the object that HealthKit gave; kept, so that no other one takes its address.
    private var sources: [ObjectIdentifier: (revision: HKSourceRevision, source: Source)] = [:]

    init(gateway: HealthKitGateway, type: SampleType) {
        self.gateway = gateway
        self.type = type
        unit = type.canonicalUnit
        healthUnit = type.kind == .quantity ? unit.map { HKUnit(from: $0.symbol) } : nil
    }

    mutating func pulled(_ sample: HKSample, _ group: String?) -> Sample? {
        guard let start = try? Instant(sample.startDate) else { return nil }
        let end = sample.endDate == .distantFuture ? Instant.distantFuture : try? Instant(sample.endDate)
        guard let end, let quantity = quantity(of: sample) else { return nil }
        var metadata = sample.metadata ?? [:]
        let identifier = metadata.removeValue(forKey: HKMetadataKeySyncIdentifier) as? String
        let version = (metadata.removeValue(forKey: HKMetadataKeySyncVersion) as? NSNumber)?.int64Value
        let wasEntered = metadata.removeValue(forKey: HKMetadataKeyWasUserEntered).flatMap { $0 as? Bool }
        let zone = metadata.removeValue(forKey: HKMetadataKeyTimeZone) as? String
        let ownGroup = metadata.removeValue(forKey: OwnKey.group) as? String
        let duration = (metadata.removeValue(forKey: OwnKey.duration) as? NSNumber)?.doubleValue
        var pulled = Sample(
            type, quantity.value, quantity.unit, from: start, to: end, source: origin(sample.sourceRevision),
            id: SampleID(sample.uuid), syncIdentifier: identifier, version: version ?? 0, origin: .imported,
            isUserEntered: wasEntered ?? false, device: sample.device.map { gateway.ours($0) },
            metadata: metadata.compactMapValues(gateway.ownValue), group: ownGroup ?? group)
        pulled.timeZone = zone
        pulled.count = max(1, (sample as? HKQuantitySample)?.count ?? 1)
        if let workout = sample as? HKWorkout {
            pulled.workout = gateway.content(of: workout)
            if let duration, duration.isFinite { pulled.quantity = Quantity(duration, .second) }
        }
        if sample is HKCorrelation { pulled.group = group ?? ownGroup ?? sample.uuid.uuidString }
        return pulled
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

    private mutating func origin(_ revision: HKSourceRevision) -> Source {
        if let known = sources[ObjectIdentifier(revision)] { return known.source }
        let system = revision.operatingSystemVersion
        let source = Source(
            bundle: revision.source.bundleIdentifier, name: revision.source.name, version: revision.version,
            product: revision.productType,
            system: "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)")
        sources[ObjectIdentifier(revision)] = (revision, source)
        return source
    }
}

extension GatewayError {
    /// Codes only: what HealthKit says about an error may name a value.
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
