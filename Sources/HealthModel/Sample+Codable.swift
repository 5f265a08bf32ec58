/// The JSON form that `kvinspect dump` writes, one sample per line; see docs/JSON.md.
extension Sample: Codable {
    enum Field: String, CodingKey {
        case id, type, start, end, value, unit, source, syncIdentifier, syncVersion, modified, replica, origin,
            userEntered
        case count, multiplicity, device, metadata, group, timeZone, local, workout, route, original, reversion
    }

    /// Reads a sample. Type, start, value and unit suffice: the end defaults to the start, the id to a new one, and the
    /// origin to imported.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        let start = try fields.decode(Instant.self, forKey: .start)
        self.init(
            try fields.decode(SampleType.self, forKey: .type), try fields.decode(JSONDouble.self, forKey: .value).value,
            try fields.decode(HealthUnit.self, forKey: .unit), from: start,
            to: try fields.decodeIfPresent(Instant.self, forKey: .end) ?? start,
            source: try Sample.source(fields),
            id: try fields.decodeIfPresent(SampleID.self, forKey: .id) ?? SampleID(),
            syncIdentifier: try fields.decodeIfPresent(String.self, forKey: .syncIdentifier),
            version: try fields.decodeIfPresent(Int64.self, forKey: .syncVersion) ?? 0,
            origin: try fields.decodeIfPresent(Origin.self, forKey: .origin) ?? .imported,
            isUserEntered: try fields.decodeIfPresent(Bool.self, forKey: .userEntered) ?? false,
            device: try Sample.device(fields),
            metadata: try fields.decodeIfPresent([String: MetadataValue].self, forKey: .metadata) ?? [:],
            group: try fields.decodeIfPresent(String.self, forKey: .group))
        if let time = try fields.decodeIfPresent(Instant.self, forKey: .modified) {
            let replica = try fields.decodeIfPresent(UInt32.self, forKey: .replica) ?? 0
            modified = ChangeClock(time: time, replica: replica)
            // A sample that a store changed has a version, and the dump leaves it out if it is 1. A new edit may have
            // no version yet.
            if !fields.contains(.syncVersion) { version = 1 }
        }
        count = try fields.decodeIfPresent(Int.self, forKey: .count) ?? 1
        multiplicity = try fields.decodeIfPresent(Int.self, forKey: .multiplicity) ?? 0
        rare = SampleRareFields(
            SampleRareFields.Content(
                timeZone: try fields.decodeIfPresent(String.self, forKey: .timeZone),
                local: try fields.decodeIfPresent([String: MetadataValue].self, forKey: .local) ?? [:],
                workout: try fields.decodeIfPresent(Workout.self, forKey: .workout),
                route: try fields.decodeIfPresent(WorkoutRoute.self, forKey: .route),
                original: try fields.decodeIfPresent(Original.self, forKey: .original),
                reversion: try fields.decodeIfPresent(Reversion.self, forKey: .reversion)))
    }

    /// Reads a source: an object, or the name alone.
    private static func source(_ fields: KeyedDecodingContainer<Field>) throws -> Source {
        guard fields.contains(.source) else { return .thisApp }
        if let name = try? fields.decode(String.self, forKey: .source) { return Source(name: name) }
        return try fields.decode(Source.self, forKey: .source)
    }

    private static func device(_ fields: KeyedDecodingContainer<Field>) throws -> Device? {
        if let name = try? fields.decode(String.self, forKey: .device) { return Device(name: name) }
        return try fields.decodeIfPresent(Device.self, forKey: .device)
    }

    /// Writes all fields of the sample, except those with their default value. ``isShadowed`` is not written: the store
    /// derives it.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(id, forKey: .id)
        try fields.encode(type, forKey: .type)
        try fields.encode(start, forKey: .start)
        try fields.encode(end, forKey: .end)
        try fields.encode(JSONDouble(quantity.value), forKey: .value)
        try fields.encode(quantity.unit, forKey: .unit)
        if source != .thisApp { try fields.encode(source, forKey: .source) }
        try fields.encodeIfPresent(syncIdentifier, forKey: .syncIdentifier)
        let isUsual = syncIdentifier == nil && version == (modified == nil ? 0 : 1)
        if !isUsual { try fields.encode(version, forKey: .syncVersion) }
        try fields.encodeIfPresent(modified?.time, forKey: .modified)
        try fields.encodeIfPresent(modified?.replica, forKey: .replica)
        if origin == .authored { try fields.encode(origin, forKey: .origin) }
        if isUserEntered { try fields.encode(true, forKey: .userEntered) }
        if count != 1 { try fields.encode(count, forKey: .count) }
        if multiplicity != 0 { try fields.encode(multiplicity, forKey: .multiplicity) }
        try fields.encodeIfPresent(device, forKey: .device)
        if !metadata.isEmpty { try fields.encode(metadata, forKey: .metadata) }
        try fields.encodeIfPresent(group, forKey: .group)
        try fields.encodeIfPresent(timeZone, forKey: .timeZone)
        if !local.isEmpty { try fields.encode(local, forKey: .local) }
        try fields.encodeIfPresent(workout, forKey: .workout)
        try fields.encodeIfPresent(route, forKey: .route)
        try fields.encodeIfPresent(original, forKey: .original)
        try fields.encodeIfPresent(reversion, forKey: .reversion)
    }
}

/// A number that may not be representable in JSON: `{"bits":"7ff8000000000000"}` if it is not finite.
struct JSONDouble: Codable {
    let value: Double

    init(_ value: Double) { self.value = value }

    private enum Field: String, CodingKey { case bits }

    init(from decoder: any Decoder) throws {
        if let number = try? decoder.singleValueContainer().decode(Double.self) {
            value = number
            return
        }
        let digits = try decoder.container(keyedBy: Field.self).decode(String.self, forKey: .bits)
        guard digits.utf8.count == 16, let bits = UInt64(digits, radix: 16) else {
            throw ModelError.numberOutOfRange(field: "bits")
        }
        value = Double(bitPattern: bits)
    }

    func encode(to encoder: any Encoder) throws {
        if value.isFinite {
            var container = encoder.singleValueContainer()
            return try container.encode(value)
        }
        let digits = String(value.bitPattern, radix: 16)
        var container = encoder.container(keyedBy: Field.self)
        try container.encode(String(repeating: "0", count: 16 - digits.utf8.count) + digits, forKey: .bits)
    }
}

extension Quantity: Codable {
    private enum Field: String, CodingKey { case value, unit }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        self.init(
            try fields.decode(JSONDouble.self, forKey: .value).value, try fields.decode(HealthUnit.self, forKey: .unit))
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(JSONDouble(value), forKey: .value)
        try fields.encode(unit, forKey: .unit)
    }
}

extension MetadataValue: Codable {
    private enum Field: String, CodingKey { case date, unit, bits }

    /// Reads a text, a number or a boolean directly; `{"date":…}` is a date, `{"value":…,"unit":…}` a quantity.
    public init(from decoder: any Decoder) throws {
        if let fields = try? decoder.container(keyedBy: Field.self) {
            if fields.contains(.date) {
                self = .date(try fields.decode(Instant.self, forKey: .date))
            } else if fields.contains(.unit) {
                self = .quantity(try Quantity(from: decoder))
            } else {
                self = .number(try JSONDouble(from: decoder).value)
            }
            return
        }
        let container = try decoder.singleValueContainer()
        if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .date(let date):
            var fields = encoder.container(keyedBy: Field.self)
            try fields.encode(date, forKey: .date)
        case .quantity(let quantity): try quantity.encode(to: encoder)
        case .number(let number): try JSONDouble(number).encode(to: encoder)
        case .string(let text):
            var container = encoder.singleValueContainer()
            try container.encode(text)
        case .bool(let flag):
            var container = encoder.singleValueContainer()
            try container.encode(flag)
        }
    }
}

extension Source: Codable {
    private enum Field: String, CodingKey { case name, bundle, version, product, system }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        self.init(
            bundle: try fields.decodeIfPresent(String.self, forKey: .bundle) ?? "",
            name: try fields.decode(String.self, forKey: .name),
            version: try fields.decodeIfPresent(String.self, forKey: .version),
            product: try fields.decodeIfPresent(String.self, forKey: .product),
            system: try fields.decodeIfPresent(String.self, forKey: .system))
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(name, forKey: .name)
        if !bundle.isEmpty { try fields.encode(bundle, forKey: .bundle) }
        try fields.encodeIfPresent(version, forKey: .version)
        try fields.encodeIfPresent(product, forKey: .product)
        try fields.encodeIfPresent(system, forKey: .system)
    }
}
