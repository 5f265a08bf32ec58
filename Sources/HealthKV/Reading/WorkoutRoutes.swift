import HealthModel

/// Which routes belong to a workout. Neither knows the other's id, since ids that derive from content give way to those
/// of Apple Health. Nor do they always have one source: a watch writes the workout, and its phone the route.
extension SampleReading where Self: ~Copyable {
    /// Returns the routes of a workout with their points, in the order of time. Most workouts outdoors have one.
    ///
    /// ```swift
    /// let routes = try store.read { txn in
    ///     try txn.samples(of: .workout, from: a, to: b).flatMap { try txn.routes(of: $0) }
    /// }
    /// for route in routes { print(route.start, route.route?.points.count ?? 0) }
    /// ```
    ///
    /// A route belongs to the workouts that hold at least half of it: those of its source, or any if there are none.
    public func routes(of workout: Sample) throws -> [Sample] {
        guard workout.type == .workout else { return [] }
        var routes: [Sample] = []
        try forEachSample(SampleQuery(.workoutRoute, around: workout)) { route in
            if try workouts(with: route).contains(where: { $0.id == workout.id }) { routes.append(route) }
            return true
        }
        return routes
    }

    /// Returns the workouts to which a route belongs.
    func workouts(with route: Sample) throws -> [Sample] {
        let holders = try samples(SampleQuery(.workout, around: route)).filter { $0.holdsHalf(of: route) }
        let own = holders.filter { $0.source.mayBe(route.source) }
        return own.isEmpty ? holders : own
    }
}

extension SampleQuery {
    /// Selects the samples that overlap the span of another, or touch it.
    fileprivate init(_ type: SampleType, around sample: Sample) {
        let end = sample.lastMoment
        self.init(
            type, from: sample.start > .earliest ? sample.start - .nanoseconds(1) : .distantPast,
            to: end < .latest ? end + .nanoseconds(1) : .distantFuture, includeShadowed: true)
    }
}

extension Sample {
    /// The end. While it is not known, a workout has lasted for its duration, and a route ends where it starts.
    fileprivate var lastMoment: Instant {
        guard isOpenEnded else { return end }
        guard type == .workout, let duration, duration > 0, duration < 1e8 else { return start }
        let (end, isTooLate) = start.nanoseconds.addingReportingOverflow(
            Int64(duration * Double(Instant.nanosecondsPerSecond)))
        return isTooLate ? start : Instant(nanoseconds: end)
    }

    /// Whether at least half of a route lies within the span.
    fileprivate func holdsHalf(of route: Sample) -> Bool {
        let (from, to) = (max(start, route.start), min(lastMoment, route.lastMoment))
        guard from <= to else { return false }
        func length(_ from: Instant, _ to: Instant) -> UInt64 {
            UInt64(bitPattern: to.nanoseconds &- from.nanoseconds)
        }
        let (held, whole) = (length(from, to), length(route.start, route.lastMoment))
        return held >= whole - held
    }
}

extension Source {
    /// Whether two records may be of one app: an export has its name alone.
    fileprivate func mayBe(_ other: Source) -> Bool {
        bundle.isEmpty || other.bundle.isEmpty ? isSameText(name, other.name) : isSameText(bundle, other.bundle)
    }
}
