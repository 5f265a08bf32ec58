/// The path of a workout outdoors. As in HealthKit, a route is a sample of its own: its type is
/// ``SampleType/workoutRoute``, its value the number of its points, and it lies within the span of its workout. So
/// reading workouts reads no points.
///
/// ```swift
/// let route = WorkoutRoute([WorkoutRoute.Point(at: a, latitude: 47.3769, longitude: 8.5417, altitude: 408)])
/// let sample = Sample(route: route, source: Source(name: "Watch"))
/// assert(sample?.route == route)
/// ```
public struct WorkoutRoute: Hashable, Sendable {
    /// A place and when it was passed. What the device did not measure is `nil`.
    public struct Point: Hashable, Sendable {
        /// When the person was there.
        public var time: Instant
        /// Degrees north of the equator.
        public var latitude: Double
        /// Degrees east of Greenwich.
        public var longitude: Double
        /// Meters above the level of the sea.
        public var altitude: Double?
        /// The radius in meters within which the place lies.
        public var horizontalAccuracy: Double?
        /// The meters by which the altitude may be wrong.
        public var verticalAccuracy: Double?
        /// Meters per second.
        public var speed: Double?
        /// The direction in degrees, clockwise from the north.
        public var course: Double?

        /// Creates a point; leave out what was not measured.
        public init(
            at time: Instant, latitude: Double, longitude: Double, altitude: Double? = nil,
            horizontalAccuracy: Double? = nil, verticalAccuracy: Double? = nil, speed: Double? = nil,
            course: Double? = nil
        ) {
            self.time = time
            self.latitude = latitude
            self.longitude = longitude
            self.altitude = altitude
            self.horizontalAccuracy = horizontalAccuracy
            self.verticalAccuracy = verticalAccuracy
            self.speed = speed
            self.course = course
        }

        /// The numbers in the order in which they are stored and printed.
        var numbers: [Double?] {
            [latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, speed, course]
        }
    }

    /// The points, in the order in which they were recorded.
    public var points: [Point]

    /// The greatest number of points of a route: three days with a point each second.
    public static let pointLimit = 1 << 18

    /// Creates a route of its points.
    public init(_ points: [Point]) { self.points = points }

    /// Checks that the points are places on the earth, at times that a store holds.
    package func validate() throws(ModelError) {
        guard points.count <= WorkoutRoute.pointLimit else { throw .numberOutOfRange(field: "points of a route") }
        for point in points {
            guard point.time.isRepresentable else { throw .instantOutOfRange }
            for number in point.numbers {
                if let number, !number.isFinite { throw .notFinite(field: "a point of a route") }
            }
            guard abs(point.latitude) <= 90 else { throw .numberOutOfRange(field: "latitude") }
            guard abs(point.longitude) <= 180 else { throw .numberOutOfRange(field: "longitude") }
        }
    }
}

extension WorkoutRoute: CustomStringConvertible {
    /// The number of points. Places stay out of logs.
    public var description: String { points.count == 1 ? "1 point" : "\(points.count) points" }
}

extension Sample {
    /// Creates the sample of a route; `nil` if the route has no points. It begins with the earliest point and ends with
    /// the latest.
    public init?(
        route: WorkoutRoute, source: Source = .thisApp, id: SampleID = SampleID(),
        metadata: [String: MetadataValue] = [:]
    ) {
        let times = route.points.map(\.time)
        guard let start = times.min(), let end = times.max() else { return nil }
        self.init(
            .workoutRoute, Double(times.count), .count, from: start, to: end, source: source, id: id,
            metadata: metadata)
        self.route = route
    }

    /// The points of a sample of the type ``SampleType/workoutRoute``.
    public var route: WorkoutRoute? {
        get { rare?.route }
        set { changeRare { $0.route = newValue } }
    }
}
