import HealthModel

/// Which routes belong to a workout: those of its source that lie within its span or overlap it. Neither knows the
/// other's id, since ids that derive from content give way to those of Apple Health.
extension SampleReading where Self: ~Copyable {
    /// Returns the routes of a workout with their points, in the order of time. Most workouts outdoors have one.
    ///
    /// ```swift
    /// let routes = try store.read { txn in
    ///     try txn.samples(of: .workout, from: a, to: b).flatMap { try txn.routes(of: $0) }
    /// }
    /// for route in routes { print(route.start, route.route?.points.count ?? 0) }
    /// ```
    public func routes(of workout: Sample) throws -> [Sample] {
        guard workout.type == .workout else { return [] }
        return try samples(of: .workoutRoute, with: workout)
    }

    /// Returns the workouts to which a route belongs.
    func workouts(with route: Sample) throws -> [Sample] { try samples(of: .workout, with: route) }

    private func samples(of type: SampleType, with sample: Sample) throws -> [Sample] {
        // One nanosecond more at both ends, for what is a moment at one of them.
        let from = sample.start > .earliest ? sample.start - .nanoseconds(1) : .distantPast
        let to = sample.end < .latest ? sample.end + .nanoseconds(1) : .distantFuture
        return try samples(SampleQuery(type, from: from, to: to, includeShadowed: true)).filter {
            $0.shares(timeWith: sample) && $0.source.mayBe(sample.source)
        }
    }
}

extension Sample {
    /// Whether both spans have more than an end in common, or one is a moment of the other.
    fileprivate func shares(timeWith other: Sample) -> Bool {
        let (from, to) = (max(start, other.start), min(end, other.end))
        return from < to || from == to && (start == end || other.start == other.end)
    }
}

extension Source {
    /// Whether two records may be of one app: an export has its name alone.
    fileprivate func mayBe(_ other: Source) -> Bool {
        bundle.isEmpty || other.bundle.isEmpty ? isSameText(name, other.name) : isSameText(bundle, other.bundle)
    }
}
