/// Workouts in the JSON form of samples, without empty fields.
extension Workout: Codable {
    private enum Field: String, CodingKey {
        case activity, energy, distance, strokes, flights, statistics, events, activities
    }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        self.init(
            try fields.decode(WorkoutActivityType.self, forKey: .activity),
            energy: try fields.decodeIfPresent(Quantity.self, forKey: .energy),
            distance: try fields.decodeIfPresent(Quantity.self, forKey: .distance),
            strokes: try fields.decodeIfPresent(Quantity.self, forKey: .strokes),
            flights: try fields.decodeIfPresent(Quantity.self, forKey: .flights),
            statistics: try fields.decodeIfPresent([WorkoutStatistics].self, forKey: .statistics) ?? [],
            events: try fields.decodeIfPresent([WorkoutEvent].self, forKey: .events) ?? [],
            activities: try fields.decodeIfPresent([WorkoutActivity].self, forKey: .activities) ?? [])
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(activityType, forKey: .activity)
        try fields.encodeIfPresent(energy, forKey: .energy)
        try fields.encodeIfPresent(distance, forKey: .distance)
        try fields.encodeIfPresent(strokes, forKey: .strokes)
        try fields.encodeIfPresent(flights, forKey: .flights)
        if !statistics.isEmpty { try fields.encode(statistics, forKey: .statistics) }
        if !events.isEmpty { try fields.encode(events, forKey: .events) }
        if !activities.isEmpty { try fields.encode(activities, forKey: .activities) }
    }
}

extension WorkoutEvent: Codable {
    private enum Field: String, CodingKey { case kind, start, end, metadata }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        self.init(
            try fields.decode(Kind.self, forKey: .kind), from: try fields.decode(Instant.self, forKey: .start),
            to: try fields.decode(Instant.self, forKey: .end),
            metadata: try fields.decodeIfPresent([String: MetadataValue].self, forKey: .metadata) ?? [:])
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(kind, forKey: .kind)
        try fields.encode(start, forKey: .start)
        try fields.encode(end, forKey: .end)
        if !metadata.isEmpty { try fields.encode(metadata, forKey: .metadata) }
    }
}

extension WorkoutActivity: Codable {
    private enum Field: String, CodingKey { case id, activity, start, end, duration, metadata, statistics, events }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        self.init(
            try fields.decode(WorkoutActivityType.self, forKey: .activity),
            from: try fields.decode(Instant.self, forKey: .start), to: try fields.decode(Instant.self, forKey: .end),
            duration: try fields.decodeIfPresent(Quantity.self, forKey: .duration),
            id: try fields.decode(SampleID.self, forKey: .id),
            metadata: try fields.decodeIfPresent([String: MetadataValue].self, forKey: .metadata) ?? [:],
            statistics: try fields.decodeIfPresent([WorkoutStatistics].self, forKey: .statistics) ?? [],
            events: try fields.decodeIfPresent([WorkoutEvent].self, forKey: .events) ?? [])
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(id, forKey: .id)
        try fields.encode(activityType, forKey: .activity)
        try fields.encode(start, forKey: .start)
        try fields.encode(end, forKey: .end)
        try fields.encodeIfPresent(duration, forKey: .duration)
        if !metadata.isEmpty { try fields.encode(metadata, forKey: .metadata) }
        if !statistics.isEmpty { try fields.encode(statistics, forKey: .statistics) }
        if !events.isEmpty { try fields.encode(events, forKey: .events) }
    }
}

extension Sample.Original: Codable {
    private enum Field: String, CodingKey {
        case start, end, value, unit, userEntered, metadata, syncVersion, modified, replica
    }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        self.init(
            start: try fields.decode(Instant.self, forKey: .start), end: try fields.decode(Instant.self, forKey: .end),
            quantity: try Quantity(from: decoder),
            isUserEntered: try fields.decodeIfPresent(Bool.self, forKey: .userEntered) ?? false,
            metadata: try fields.decodeIfPresent([String: MetadataValue].self, forKey: .metadata) ?? [:],
            version: try fields.decodeIfPresent(Int64.self, forKey: .syncVersion) ?? 1)
        if let time = try fields.decodeIfPresent(Instant.self, forKey: .modified) {
            modified = ChangeClock(time: time, replica: try fields.decodeIfPresent(UInt32.self, forKey: .replica) ?? 0)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(start, forKey: .start)
        try fields.encode(end, forKey: .end)
        try fields.encode(JSONDouble(quantity.value), forKey: .value)
        try fields.encode(quantity.unit, forKey: .unit)
        if isUserEntered { try fields.encode(true, forKey: .userEntered) }
        if !metadata.isEmpty { try fields.encode(metadata, forKey: .metadata) }
        if version != 1 { try fields.encode(version, forKey: .syncVersion) }
        try fields.encodeIfPresent(modified?.time, forKey: .modified)
        try fields.encodeIfPresent(modified?.replica, forKey: .replica)
    }
}

extension Sample.Reversion: Codable {
    private enum Field: String, CodingKey { case syncVersion, modified, replica }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        let clock = ChangeClock(
            time: try fields.decode(Instant.self, forKey: .modified),
            replica: try fields.decodeIfPresent(UInt32.self, forKey: .replica) ?? 0)
        self.init(version: try fields.decode(Int64.self, forKey: .syncVersion), modified: clock)
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(version, forKey: .syncVersion)
        try fields.encode(modified.time, forKey: .modified)
        try fields.encode(modified.replica, forKey: .replica)
    }
}
