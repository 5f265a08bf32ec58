/// Routes in the JSON form of samples: a list of points, each a list of its time, latitude, longitude, altitude,
/// horizontal and vertical accuracy, speed and course. What was not measured is `null`, and left out at the end.
extension WorkoutRoute: Codable {
    public init(from decoder: any Decoder) throws { points = try [Point](from: decoder) }

    public func encode(to encoder: any Encoder) throws { try points.encode(to: encoder) }
}

extension WorkoutRoute.Point: Codable {
    public init(from decoder: any Decoder) throws {
        var fields = try decoder.unkeyedContainer()
        func number(_ fields: inout any UnkeyedDecodingContainer) throws -> Double? {
            fields.isAtEnd ? nil : try fields.decodeIfPresent(Double.self)
        }
        let time = try fields.decode(Instant.self)
        let (latitude, longitude) = (try fields.decode(Double.self), try fields.decode(Double.self))
        self.init(
            at: time, latitude: latitude, longitude: longitude, altitude: try number(&fields),
            horizontalAccuracy: try number(&fields), verticalAccuracy: try number(&fields), speed: try number(&fields),
            course: try number(&fields))
        guard fields.isAtEnd else { throw ModelError.numberOutOfRange(field: "a point of a route") }
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.unkeyedContainer()
        try fields.encode(time)
        for number in measured { if let number { try fields.encode(number) } else { try fields.encodeNil() } }
    }

    /// The numbers up to the last one that was measured.
    package var measured: ArraySlice<Double?> {
        numbers[...(numbers.lastIndex { $0 != nil } ?? 0)]
    }
}
