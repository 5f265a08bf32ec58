import Foundation
import HealthKVSync

#if canImport(HealthKit) && !SimulatedHealthKit
    import HealthKit
#else
    import HealthKitSimulator
#endif

/// HealthKit itself, or its simulator. No other file calls it; docs/healthkit-api.md lists the calls.
struct HealthKitGateway: HealthGateway {
    let store: HKHealthStore
    /// This app's source in HealthKit.
    let source: HKSource
    /// The bundle identifiers of the app's extensions, whose samples count as this app's.
    var extensions: Set<String> = []

    func availability() async -> PeerAvailability {
        guard HKHealthStore.isHealthDataAvailable() else { return .unavailable }
        do {
            // Only a query detects a lock. It does not matter which type is queried, nor whether the type may be read.
            let probe = HKSampleQueryDescriptor(
                predicates: [.sample(type: HKObjectType.workoutType())], sortDescriptors: [], limit: 1)
            _ = try await probe.result(for: store)
            return .available
        } catch {
            switch GatewayError(error) {
            case .unavailable: return .unavailable
            case .restricted: return .restricted
            case .locked: return .locked
            default: return .available
            }
        }
    }

    func requestAuthorization(read: Set<SampleType>, write: Set<SampleType>) async throws(GatewayError) {
        let share = Set(try write.map(healthType)), read = Set(try read.map(healthType))
        do { try await store.requestAuthorization(toShare: share, read: read) } catch { throw GatewayError(error) }
    }

    func authorization(of type: SampleType) async throws(GatewayError) -> TypeAuthorization {
        let healthType = try healthType(type)
        var known = TypeAuthorization(writing: writing(type), earliest: earliestPermitted())
        do {
            // An app that only reads a type never asks to share it, so an undetermined share status says nothing about
            // reading.
            let share = type.isShareable && known.writing != .notDetermined ? Set([healthType]) : []
            switch try await store.statusForAuthorizationRequest(toShare: share, read: [healthType]) {
            case .shouldRequest: known.advice = .shouldRequest
            case .unnecessary: known.advice = .unnecessary
            default: known.advice = .unknown
            }
        } catch {
            known.advice = .unknown
        }
        return known
    }

    func writing(_ type: SampleType) -> TypeAuthorization.Writing {
        guard let healthType = try? healthType(type) else { return .denied }
        return switch store.authorizationStatus(for: healthType) {
        case .sharingAuthorized: .granted
        case .sharingDenied: .denied
        default: .notDetermined
        }
    }

    func earliestPermitted() -> Instant? {
        let earliest = store.earliestPermittedSampleDate()
        return earliest == .distantPast ? nil : try? Instant(earliest)
    }

    func changes(_ request: PullRequest) async throws(GatewayError) -> PullPage {
        let type = try healthType(request.type)
        let predicate = request.from.map {
            HKQuery.predicateForSamples(withStart: date($0), end: nil, options: .strictStartDate)
        }
        do {
            let anchor = try request.token.map(anchor)
            let descriptor = HKAnchoredObjectQueryDescriptor(
                predicates: [.sample(type: type, predicate: predicate)], anchor: anchor, limit: request.limit)
            let result = try await descriptor.result(for: store)
            let token = try NSKeyedArchiver.archivedData(withRootObject: result.newAnchor, requiringSecureCoding: true)
            let deletions = result.deletedObjects.map { deleted in
                PulledDeletion(
                    idAtPeer: SampleID(deleted.uuid),
                    syncIdentifier: deleted.metadata?[HKMetadataKeySyncIdentifier] as? String,
                    version: (deleted.metadata?[HKMetadataKeySyncVersion] as? NSNumber)?.int64Value)
            }
            // The limit does not tell whether more follows; only two empty lists do.
            return PullPage(
                additions: try await pulled(result.addedSamples, request.type), deletions: deletions,
                token: Array(token), isDrained: result.addedSamples.isEmpty && deletions.isEmpty)
        } catch {
            throw GatewayError(error)
        }
    }

    func latest(
        of type: SampleType, in window: TimeRange, named identifiers: Set<String>?, limit: Int
    ) async throws(GatewayError) -> LatestSamples<PulledSample> {
        try await latest(type, window, identifiers, limit) { try await pulled($0, type) }
    }

    func latestOutlines(
        of type: SampleType, in window: TimeRange, named identifiers: Set<String>?, limit: Int
    ) async throws(GatewayError) -> LatestSamples<SampleOutline> {
        try await latest(type, window, identifiers, limit) { found in
            var reader = SampleReader(gateway: self, type: type)
            return found.compactMap { reader.outline(of: $0) }
        }
    }

    private func latest<Item>(
        _ type: SampleType, _ window: TimeRange, _ identifiers: Set<String>?, _ limit: Int,
        _ read: ([HKSample]) async throws -> [Item]
    ) async throws(GatewayError) -> LatestSamples<Item> {
        let healthType = try healthType(type)
        var predicate = HKQuery.predicateForSamples(
            withStart: date(window.from), end: date(window.to), options: .strictStartDate)
        if let identifiers {
            predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
                predicate, self.predicate(identifiers),
            ])
        }
        do {
            let descriptor = HKSampleQueryDescriptor(
                predicates: [.sample(type: healthType, predicate: predicate)],
                sortDescriptors: [SortDescriptor(\HKSample.startDate, order: .reverse)], limit: limit)
            let found = try await descriptor.result(for: store)
            let earliest = try found.lazy.map(\.startDate).min().map { try Instant($0) }
            return LatestSamples(samples: try await read(found), count: found.count, earliest: earliest)
        } catch {
            throw GatewayError(error)
        }
    }

    func held(_ identifiers: Set<String>, of type: SampleType) async throws(GatewayError) -> [HeldSample] {
        let healthType = try healthType(type)
        do {
            let descriptor = HKSampleQueryDescriptor(
                predicates: [.sample(type: healthType, predicate: predicate(identifiers))], sortDescriptors: [])
            return try await descriptor.result(for: store).compactMap { sample in
                guard isReplaceable(sample), let identifier = sample.metadata?[HKMetadataKeySyncIdentifier] as? String
                else {
                    return nil
                }
                let version = (sample.metadata?[HKMetadataKeySyncVersion] as? NSNumber)?.int64Value ?? 0
                return HeldSample(
                    id: SampleID(sample.uuid), syncIdentifier: identifier, version: version,
                    start: try Instant(sample.startDate))
            }
        } catch {
            throw GatewayError(error)
        }
    }

    func save(_ shipment: Shipment) async throws(GatewayError) -> [SampleID] {
        do {
            if let workout = shipment.samples.first, workout.type == .workout { return [try await save(workout)] }
            let objects = try shipment.samples.map(healthSample)
            guard let correlation = shipment.correlation, let first = shipment.samples.first else {
                try await store.save(objects)
                return objects.map { SampleID($0.uuid) }
            }
            let members = zip(shipment.samples, objects).filter { sample, _ in
                correlation.members.contains(sample.syncIdentifier ?? "")
            }.map(\.1)
            var metadata: [String: Any] = [OwnKey.group: first.group ?? ""]
            if let name = correlation.name {
                metadata[HKMetadataKeySyncIdentifier] = name.identifier
                metadata[HKMetadataKeySyncVersion] = NSNumber(value: name.version)
            }
            let food = first.metadata.filter { $0.key == Meal.foodTypeKey }.mapValues(healthValue)
            let whole = HKCorrelation(
                type: HKCorrelationType(HKCorrelationTypeIdentifier(rawValue: correlation.type.identifier)),
                start: date(first.start), end: date(first.end), objects: Set(members), device: nil,
                metadata: food.merging(metadata) { $1 })
            try await store.save([whole] + objects.filter { !members.contains($0) })
            return objects.map { SampleID($0.uuid) }
        } catch {
            throw GatewayError(error)
        }
    }

    func deleteTotals(of workouts: Set<String>, before version: Int64?) async throws(GatewayError) -> Set<String> {
        var left: Set<String> = []
        let parts = HKQuery.predicateForObjects(withMetadataKey: OwnKey.workout, allowedValues: Array(workouts))
        do {
            for type in WorkoutPart.types {
                let healthType = try healthType(type)
                let access = store.authorizationStatus(for: healthType)
                // A type that the user was never asked for cannot be read either.
                if access == .notDetermined { continue }
                if access == .sharingAuthorized, version == nil {
                    _ = try await store.deleteObjects(of: healthType, predicate: parts)
                    continue
                }
                let found = try await HKSampleQueryDescriptor(
                    predicates: [.sample(type: healthType, predicate: parts)], sortDescriptors: []
                ).result(for: store)
                let old = found.filter { part in
                    let held = (part.metadata?[HKMetadataKeySyncVersion] as? NSNumber)?.int64Value ?? 0
                    return isReplaceable(part) && version.map { held < $0 } ?? true
                }
                if old.isEmpty { continue }
                if access == .sharingAuthorized {
                    try await store.delete(old)
                } else {
                    left.formUnion(old.compactMap { $0.metadata?[OwnKey.workout] as? String })
                }
            }
            return left
        } catch {
            throw GatewayError(error)
        }
    }

    func delete(_ type: SampleType, ids: Set<SampleID>) async throws(GatewayError) {
        let healthType = try healthType(type)
        do {
            let predicate = HKQuery.predicateForObjects(with: Set(ids.map(\.uuid)))
            _ = try await store.deleteObjects(of: healthType, predicate: predicate)
        } catch {
            throw GatewayError(error)
        }
    }

    func deleteEmpty(_ type: SampleType, at instants: Set<Instant>, of groups: Set<String>) async throws(GatewayError) {
        let healthType = try healthType(type)
        var places = instants.map { instant in
            HKQuery.predicateForSamples(
                withStart: date(instant), end: date(instant + 1_000_000), options: .strictStartDate)
        }
        if !groups.isEmpty {
            places.append(HKQuery.predicateForObjects(withMetadataKey: OwnKey.group, allowedValues: Array(groups)))
        }
        for predicate in places {
            try await deleteOwn(healthType, predicate) { ($0 as? HKCorrelation)?.objects.isEmpty == true }
        }
    }

    func deleteCorrelations(
        _ type: SampleType, of group: String, except identifier: String, holdingOnly members: Set<String>
    ) async throws(GatewayError) {
        let predicate = HKQuery.predicateForObjects(withMetadataKey: OwnKey.group, allowedValues: [group])
        try await deleteOwn(healthType(type), predicate) { sample in
            guard let correlation = sample as? HKCorrelation,
                correlation.metadata?[HKMetadataKeySyncIdentifier] as? String != identifier
            else { return false }
            return correlation.objects.allSatisfy { member in
                (member.metadata?[HKMetadataKeySyncIdentifier] as? String).map { members.contains($0) } ?? false
            }
        }
    }

    private func deleteOwn(
        _ type: HKSampleType, _ predicate: NSPredicate, where isMeant: (HKSample) -> Bool
    ) async throws(GatewayError) {
        do {
            let found = try await HKSampleQueryDescriptor(
                predicates: [.sample(type: type, predicate: predicate)], sortDescriptors: []
            ).result(for: store)
            let meant = found.filter { isReplaceable($0) && isMeant($0) }
            if !meant.isEmpty { try await store.delete(meant) }
        } catch {
            throw GatewayError(error)
        }
    }

    func dailyTotals(of type: SampleType, days: LocalDays) async throws(GatewayError) -> [DayReading] {
        guard let unit = type.catalogUnit, type.aggregation == .cumulative, let first = days.days.first,
            let last = days.days.last
        else { throw .invalid("\(type) has no daily totals") }
        let predicate = HKQuery.predicateForSamples(withStart: first.start, end: last.end)
        do {
            let descriptor = HKStatisticsCollectionQueryDescriptor(
                predicate: .quantitySample(
                    type: HKQuantityType(HKQuantityTypeIdentifier(rawValue: type.identifier)), predicate: predicate),
                options: .cumulativeSum, anchorDate: first.start,
                intervalComponents: DateComponents(calendar: days.calendar, timeZone: days.calendar.timeZone, day: 1))
            let collection = try await descriptor.result(for: store)
            return days.days.compactMap { day in
                let sum = collection.statistics(for: day.start)?.sumQuantity()
                return sum.map {
                    DayReading(
                        day: day.name, quantity: Quantity($0.doubleValue(for: HKUnit(from: unit.symbol)), unit))
                }
            }
        } catch {
            throw GatewayError(error)
        }
    }

    func observe(
        _ type: SampleType, news: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        failed: @escaping @Sendable (GatewayError) -> Void
    ) -> @Sendable () -> Void {
        guard let healthType = try? healthType(type) else { return {} }
        let query = HKObserverQuery(
            queryDescriptors: [HKQueryDescriptor(sampleType: healthType, predicate: nil)]
        ) { _, _, completion, error in
            if let error {
                completion()
                return failed(GatewayError(error))
            }
            let completion = ObserverCompletion(call: completion)
            news { completion.call() }
        }
        store.execute(query)
        return { [store] in store.stop(query) }
    }

    func enableWaking(for type: SampleType) async throws(GatewayError) {
        let healthType = try healthType(type)
        do { try await store.enableBackgroundDelivery(for: healthType, frequency: .immediate) } catch {
            throw GatewayError(error)
        }
    }

    func disableWaking(for type: SampleType) async throws(GatewayError) {
        let healthType = try healthType(type)
        do { try await store.disableBackgroundDelivery(for: healthType) } catch { throw GatewayError(error) }
    }

    func longestDuration(of type: SampleType) -> Double? {
        guard let type = try? healthType(type), type.isMaximumDurationRestricted else { return nil }
        return type.maximumAllowedDuration
    }
}

// Operations that take several calls.
extension HealthKitGateway {
    /// Saves a workout. HealthKit sums up the samples that were added to it, so its totals are saved as samples that
    /// belong to it.
    private func save(_ sample: Sample) async throws -> SampleID {
        let workout = sample.workout ?? Workout(.other)
        let builder = HKWorkoutBuilder(
            healthStore: store, configuration: configuration(workout.activityType),
            device: sample.device.map { healthDevice($0) })
        try await builder.beginCollection(at: date(sample.start))
        var parts: [HKSample] = []
        for (type, total) in WorkoutPart.totals(of: workout) {
            let healthType = HKQuantityType(HKQuantityTypeIdentifier(rawValue: type.identifier))
            guard store.authorizationStatus(for: healthType) == .sharingAuthorized else { continue }
            let identifier = sample.syncIdentifier ?? ""
            parts.append(
                HKQuantitySample(
                    type: healthType, quantity: quantity(total), start: date(sample.start), end: date(sample.end),
                    device: nil,
                    metadata: [
                        OwnKey.workout: identifier, HKMetadataKeySyncIdentifier: "\(identifier).\(type.shortName)",
                        HKMetadataKeySyncVersion: NSNumber(value: sample.version),
                    ]))
        }
        if !parts.isEmpty { try await builder.addSamples(parts) }
        let events = workout.events.compactMap { event in
            HKWorkoutEventType(rawValue: Int(event.kind.rawValue)).map { kind in
                HKWorkoutEvent(
                    type: kind, dateInterval: DateInterval(start: date(event.start), end: date(event.end)),
                    metadata: event.metadata.isEmpty ? nil : event.metadata.mapValues(healthValue))
            }
        }
        if !events.isEmpty { try await builder.addWorkoutEvents(events) }
        for activity in workout.activities { try await builder.addWorkoutActivity(healthActivity(activity)) }
        try await builder.addMetadata(metadata(of: sample))
        try await builder.endCollection(at: date(sample.end))
        // While the device is locked, the workout is saved but not returned, so its UUID is unknown.
        guard let saved = try await builder.finishWorkout() else {
            throw GatewayError.other("the workout was not given back")
        }
        return SampleID(saved.uuid)
    }

    /// Converts HealthKit's samples to our values. Samples of a meal or another correlation get the group that holds
    /// them. Samples that represent a workout's totals come with their workout, and our correlations come with their
    /// members.
    private func pulled(_ samples: [HKSample], _ type: SampleType) async throws -> [PulledSample] {
        let groups = try await groups(of: samples, type)
        var reader = SampleReader(gateway: self, type: type)
        var pulled: [PulledSample] = []
        pulled.reserveCapacity(samples.count)
        for sample in samples {
            let group = groups.isEmpty ? nil : groups[sample.uuid]
            if let ours = reader.pulled(sample, group) { pulled.append(ours) }
        }
        return pulled
    }

    private func groups(of samples: [HKSample], _ type: SampleType) async throws -> [UUID: String] {
        guard let owner = Correlation.type(holding: type) else { return [:] }
        var groups: [UUID: String] = [:]
        for span in HealthKitGateway.spans(of: samples) {
            let window = HKQuery.predicateForSamples(withStart: span.start, end: span.end.addingTimeInterval(1))
            let descriptor = HKSampleQueryDescriptor(
                predicates: [.sample(type: try healthType(owner), predicate: window)], sortDescriptors: [])
            for case let correlation as HKCorrelation in try await descriptor.result(for: store) {
                let name = correlation.metadata?[OwnKey.group] as? String ?? correlation.uuid.uuidString
                for member in correlation.objects { groups[member.uuid] = name }
            }
        }
        return groups
    }

    /// Returns the spans of time that the samples cover, without the longest gaps: a page holds samples in the order of
    /// their writing, and those of an import may lie years apart.
    private static func spans(of samples: [HKSample]) -> [DateInterval] {
        var (spans, gaps): ([DateInterval], [TimeInterval]) = ([], [])
        for sample in samples.sorted(by: { $0.startDate < $1.startDate }) {
            let end = max(sample.startDate, sample.endDate)
            if let last = spans.last {
                gaps.append(sample.startDate.timeIntervalSince(last.end))
                spans.append(DateInterval(start: sample.startDate, end: max(last.end, end)))
            } else {
                spans.append(DateInterval(start: sample.startDate, end: end))
            }
        }
        // Each span is a query of its own.
        let longest = gaps.sorted(by: >).dropFirst(mostSpans - 1).first ?? 0
        var joined: [DateInterval] = []
        for (index, span) in spans.enumerated() {
            if index > 0, gaps[index - 1] <= max(86_400, longest) {
                joined[joined.count - 1].end = span.end
            } else {
                joined.append(span)
            }
        }
        return joined
    }

    private static let mostSpans = 16
}

// HealthKit accepts the call from any thread, although its type does not say so.
private struct ObserverCompletion: @unchecked Sendable {
    let call: HKObserverQueryCompletionHandler
}

extension HealthKitPeer {
    /// Apple Health on this device.
    ///
    /// - Parameters:
    ///   - store: The app's health store, if it has one already.
    ///   - source: This app's source in HealthKit.
    ///   - extensions: The bundle identifiers of the app's extensions. It is not documented whether HealthKit gives
    ///     their samples the app's source or one of their own: samples with one of these identifiers count as this
    ///     app's. Only the writer of a sample can replace or delete it in HealthKit.
    ///   - hasInfoKey: Returns `true` if the app's Info.plist has a key.
    ///   - deadline: Returns when a wake-up must be answered, whether or not its work is done. HealthKit stops waking
    ///     an app that does not answer.
    ///   - pause: Returns when a type whose observer has failed that many times in a row is to be observed again.
    public init(
        store: HKHealthStore = HKHealthStore(), source: HKSource = .default(), extensions: Set<String> = [],
        hasInfoKey: @escaping @Sendable (String) -> Bool = { Bundle.main.object(forInfoDictionaryKey: $0) != nil },
        deadline: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: .seconds(20)) },
        pause: @escaping @Sendable (_ failures: Int) async -> Void = { failures in
            try? await Task.sleep(for: .seconds(min(3_600, 60 << min(failures - 1, 6))))
        }
    ) {
        self.init(
            gateway: HealthKitGateway(store: store, source: source, extensions: extensions), hasInfoKey: hasInfoKey,
            deadline: deadline, pause: pause)
    }
}
