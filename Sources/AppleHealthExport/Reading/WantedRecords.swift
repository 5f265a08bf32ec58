import HealthKV

/// What of a file or of a store is wanted.
struct WantedRecords: Sendable {
    var types: Set<SampleType>?
    var sources: Set<String>?
    var range: TimeRange

    func includes(_ type: SampleType, _ source: Source) -> Bool {
        includes(type) && (sources?.contains(source.name) ?? true)
    }

    /// Whether a type is wanted. Workouts come with their routes.
    func includes(_ type: SampleType) -> Bool {
        guard let types else { return true }
        return types.contains(type) || type == .workoutRoute && types.contains(.workout)
    }

    func includes(_ sample: Sample) -> Bool {
        includes(sample.type, sample.source) && includes(start: sample.start.nanoseconds)
    }

    /// Whether a total is wanted. It has no source.
    func includes(_ total: DailyTotal) -> Bool {
        (types?.contains(total.type) ?? true) && sources == nil && total.belongs(to: range)
    }

    @inline(__always)
    func includes(start: Int64) -> Bool { start >= range.from.nanoseconds && start < range.to.nanoseconds }
}
