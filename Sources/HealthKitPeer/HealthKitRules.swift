import HealthKVSync

/// The rules that HealthKit would enforce with an error, or by ending the process (SEMANTICS A26). They are checked
/// before any HealthKit object is made, and the reason never contains a health value.
struct HealthKitRules: Sendable {
    let longestDuration: @Sendable (SampleType) -> Double?
    /// HealthKit refuses samples that end before this; `nil` for no such bound.
    var earliest: Instant?

    /// Returns why a sample cannot be sent, or `nil` if it can.
    func refusal(of sample: Sample) -> String? {
        do {
            try sample.validate()
        } catch {
            return error.description
        }
        guard sample.type.catalogNumber != nil else { return "HealthKit knows no type \(sample.type)." }
        guard sample.type.isShareable else { return "Only the system writes \(sample.type)." }
        guard sample.type.kind != .correlation else { return "A \(sample.type) is sent with the samples of its group." }
        guard sample.syncIdentifier != nil else { return "The sample has no sync identifier." }
        if let earliest, sample.end < earliest {
            return "The sample lies before the earliest date that HealthKit takes on this device."
        }
        return contentRefusal(sample) ?? durationRefusal(sample) ?? metadataRefusal(sample)
    }

    private func contentRefusal(_ sample: Sample) -> String? {
        guard sample.quantity.value.isFinite else { return "The value is no finite number." }
        if sample.type.kind == .category {
            let cases = CategoryCases.of(sample.type)
            return cases.contains(sample.categoryValue ?? -1) ? nil : "\(sample.type) has no such case."
        }
        guard sample.type == .workout else { return nil }
        guard let workout = sample.workout else { return "The workout has no activity." }
        for activity in workout.activities {
            if activity.start < sample.start || activity.end > sample.end { return "A part lies outside the workout." }
            if let refusal = MetadataRules.refusal(activity.metadata) { return refusal }
        }
        for (_, total) in WorkoutPart.totals(of: workout) where !total.value.isFinite || total.value < 0 {
            return "A total of the workout is no amount."
        }
        for event in workout.events {
            if event.start < sample.start || event.end > sample.end { return "An event lies outside the workout." }
            if event.start != event.end, event.kind != .lap, event.kind != .segment {
                return "Only laps and segments of a workout have a duration."
            }
            if let refusal = MetadataRules.refusal(event.metadata) { return refusal }
        }
        return nil
    }

    private func durationRefusal(_ sample: Sample) -> String? {
        if sample.isOpenEnded { return sample.type == .workout ? "The workout has no end." : nil }
        guard let longest = longestDuration(sample.type), let duration = seconds(sample), duration > longest else {
            return nil
        }
        return "A \(sample.type) lasts at most \(Int(longest)) seconds."
    }

    private func seconds(_ sample: Sample) -> Double? { (sample.end - sample.start.nanoseconds).secondsSinceReference }

    private func metadataRefusal(_ sample: Sample) -> String? {
        if let needed = MetadataRules.needed[sample.type], sample.metadata[needed] == nil {
            return "A \(sample.type) needs the metadata key \(needed)."
        }
        return MetadataRules.refusal(sample.metadata)
    }
}

/// The cases of category types.
enum CategoryCases {
    private static let exceptional: [SampleType: ClosedRange<Int>] = [
        .sleepAnalysis: 0...5, .cervicalMucusQuality: 1...5, .contraceptive: 1...7, .menstrualFlow: 1...5,
        .ovulationTestResult: 1...4, .pregnancyTestResult: 1...3, .progesteroneTestResult: 1...3,
        .appetiteChanges: 0...3, .moodChanges: 0...1, .sleepChanges: 0...1, .bleedingAfterPregnancy: 1...5,
        .bleedingDuringPregnancy: 1...5,
    ]
    private static let withoutCases: Set<SampleType> = [
        .mindfulSession, .handwashingEvent, .toothbrushingEvent, .intermenstrualBleeding, .lactation, .pregnancy,
        .sexualActivity,
    ]

    /// Returns the cases of a type. Symptoms have five degrees; a type of plain events has the single case 0.
    static func of(_ type: SampleType) -> ClosedRange<Int> {
        exceptional[type] ?? (withoutCases.contains(type) ? 0...0 : 0...4)
    }
}

/// HealthKit's own metadata keys, and the kinds of their values.
enum MetadataRules {
    /// Types that HealthKit does not accept without a certain key.
    static let needed: [SampleType: String] = [
        .menstrualFlow: "HKMenstrualCycleStart", .insulinDelivery: "HKInsulinDeliveryReason",
    ]

    /// Keys that are set from fields of the sample, and in no other way.
    private static let reserved: Set<String> = OwnKey.all.union([
        "HKMetadataKeySyncIdentifier", "HKMetadataKeySyncVersion",
    ])

    /// Returns why metadata cannot be sent, or `nil` if it can.
    static func refusal(_ metadata: [String: MetadataValue]) -> String? {
        for (key, value) in metadata {
            if reserved.contains(key) { return "The metadata key \(key) is set by the adapter alone." }
            if case .number(let number) = value, !number.isFinite {
                return "The metadata of \(key) is no finite number."
            }
            if case .quantity(let quantity) = value, !quantity.value.isFinite {
                return "The metadata of \(key) is no finite number."
            }
            guard key.hasPrefix("HK") else { continue }
            guard let kind = MetadataKind(key: key) else {
                return "The metadata key \(key) is not known to be one of HealthKit's."
            }
            if !kind.takes(value) { return "The metadata of \(key) is of the wrong kind." }
        }
        return nil
    }
}
