import HealthModel

/// Encodes the details of samples that are more than a value; equal payloads have equal bytes.
///
/// ```
/// payload    = kind (1): 1 workout, 2 route (see ``RouteCoding``)
/// workout    = activity type (4), energy, distance, strokes, flights (each optional quantity),
///              statistics, events, number of activities (4), activities
/// activity   = id (16), activity type (4), start (8), end (8), duration (optional quantity), metadata,
///              statistics, events
/// statistics = number (4), for each: type (text), start (8), end (8),
///              sum, average, minimum, maximum (each optional quantity)
/// events     = number (4), for each: kind (4), start (8), end (8), metadata
/// optional quantity = 0, or 1, double (8), unit (text)
/// ```
public enum PayloadCoding {
    private static let workoutKind: UInt8 = 1

    public static func encode(_ workout: Workout?, _ route: WorkoutRoute?) -> [UInt8]? {
        if let route { return RouteCoding.encode(route) }
        guard let workout else { return nil }
        var writer = RecordWriter()
        writer.append(workoutKind)
        writer.append(workout.activityType.rawValue)
        for total in [workout.energy, workout.distance, workout.strokes, workout.flights] { write(total, to: &writer) }
        write(workout.statistics, to: &writer)
        write(workout.events, to: &writer)
        writer.append(UInt32(workout.activities.count))
        for activity in workout.activities {
            writer.append(activity.id)
            writer.append(activity.activityType.rawValue)
            writer.append(activity.start.nanoseconds)
            writer.append(activity.end.nanoseconds)
            write(activity.duration, to: &writer)
            MetadataCoding.write(activity.metadata, to: &writer)
            write(activity.statistics, to: &writer)
            write(activity.events, to: &writer)
        }
        return writer.bytes
    }

    /// Sets what a payload holds.
    public static func decode(_ bytes: [UInt8], into sample: inout Sample) throws(FormatError) {
        var reader = RecordReader(fields: bytes.rawBytes)
        switch try reader.read(UInt8.self) {
        case workoutKind: sample.workout = try workout(&reader)
        case RouteCoding.kind: sample.route = try RouteCoding.decode(&reader)
        default: throw FormatError(.unknown, "payload")
        }
        guard reader.isAtEnd else { throw FormatError(.invalid, "payload") }
    }

    private static func workout(_ reader: inout RecordReader) throws(FormatError) -> Workout {
        var workout = Workout(WorkoutActivityType(rawValue: try reader.read(UInt32.self)))
        workout.energy = try quantity(&reader)
        workout.distance = try quantity(&reader)
        workout.strokes = try quantity(&reader)
        workout.flights = try quantity(&reader)
        workout.statistics = try statistics(&reader)
        workout.events = try events(&reader)
        for _ in 0..<(try reader.read(UInt32.self)) { workout.activities.append(try activity(&reader)) }
        return workout
    }

    private static func activity(_ reader: inout RecordReader) throws(FormatError) -> WorkoutActivity {
        let id = try reader.readID()
        let type = WorkoutActivityType(rawValue: try reader.read(UInt32.self))
        let start = Instant(nanoseconds: try reader.read(Int64.self))
        let end = Instant(nanoseconds: try reader.read(Int64.self))
        var activity = WorkoutActivity(type, from: start, to: end, id: id)
        activity.duration = try quantity(&reader)
        activity.metadata = try MetadataCoding.read(&reader)
        activity.statistics = try statistics(&reader)
        activity.events = try events(&reader)
        return activity
    }

    static func write(_ quantity: Quantity?, to writer: inout RecordWriter) {
        writer.append(quantity == nil ? 0 : 1 as UInt8)
        guard let quantity else { return }
        writer.append(quantity.value.bitPattern)
        writer.append(quantity.unit.symbol)
    }

    static func quantity(_ reader: inout RecordReader) throws(FormatError) -> Quantity? {
        switch try reader.read(UInt8.self) {
        case 0: return nil
        case 1: break
        default: throw FormatError(.invalid, "quantity")
        }
        let value = Double(bitPattern: try reader.read(UInt64.self))
        let symbol = try reader.readText()
        guard let unit = try? HealthUnit(symbol: symbol) else { throw FormatError(.unknown, "unit") }
        return Quantity(value, unit)
    }

    private static func write(_ statistics: [WorkoutStatistics], to writer: inout RecordWriter) {
        writer.append(UInt32(statistics.count))
        for item in statistics {
            writer.append(item.type.identifier)
            writer.append(item.start.nanoseconds)
            writer.append(item.end.nanoseconds)
            for quantity in [item.sum, item.average, item.minimum, item.maximum] { write(quantity, to: &writer) }
        }
    }

    private static func statistics(_ reader: inout RecordReader) throws(FormatError) -> [WorkoutStatistics] {
        var statistics: [WorkoutStatistics] = []
        for _ in 0..<(try reader.read(UInt32.self)) {
            let type = SampleType(try reader.readText())
            let start = Instant(nanoseconds: try reader.read(Int64.self))
            let end = Instant(nanoseconds: try reader.read(Int64.self))
            var item = WorkoutStatistics(type, from: start, to: end)
            item.sum = try quantity(&reader)
            item.average = try quantity(&reader)
            item.minimum = try quantity(&reader)
            item.maximum = try quantity(&reader)
            statistics.append(item)
        }
        return statistics
    }

    private static func write(_ events: [WorkoutEvent], to writer: inout RecordWriter) {
        writer.append(UInt32(events.count))
        for event in events {
            writer.append(event.kind.rawValue)
            writer.append(event.start.nanoseconds)
            writer.append(event.end.nanoseconds)
            MetadataCoding.write(event.metadata, to: &writer)
        }
    }

    private static func events(_ reader: inout RecordReader) throws(FormatError) -> [WorkoutEvent] {
        var events: [WorkoutEvent] = []
        for _ in 0..<(try reader.read(UInt32.self)) {
            let kind = WorkoutEvent.Kind(rawValue: try reader.read(UInt32.self))
            let start = Instant(nanoseconds: try reader.read(Int64.self))
            let end = Instant(nanoseconds: try reader.read(Int64.self))
            events.append(WorkoutEvent(kind, from: start, to: end, metadata: try MetadataCoding.read(&reader)))
        }
        return events
    }
}

/// Encodes the imported state under an edit: start (8), end (8), quantity (1, double, unit), user entered (1),
/// metadata, version (8), and the clock if there is one. A clock is time (8), replica (4).
public enum OriginalCoding {
    public static func encode(_ original: Sample.Original?) -> [UInt8]? {
        guard let original else { return nil }
        var writer = RecordWriter()
        writer.append(original.start.nanoseconds)
        writer.append(original.end.nanoseconds)
        PayloadCoding.write(original.quantity, to: &writer)
        writer.append(original.isUserEntered ? 1 : 0 as UInt8)
        MetadataCoding.write(original.metadata, to: &writer)
        writer.append(original.version)
        if let clock = original.modified { ReversionCoding.write(clock, to: &writer) }
        return writer.bytes
    }

    public static func decode(_ bytes: [UInt8]) throws(FormatError) -> Sample.Original {
        var reader = RecordReader(fields: bytes.rawBytes)
        let start = Instant(nanoseconds: try reader.read(Int64.self))
        let end = Instant(nanoseconds: try reader.read(Int64.self))
        guard let quantity = try PayloadCoding.quantity(&reader) else { throw FormatError(.invalid, "quantity") }
        let isUserEntered = try reader.read(UInt8.self) != 0
        let metadata = try MetadataCoding.read(&reader)
        let version = try reader.read(Int64.self)
        let clock = reader.isAtEnd ? nil : try ReversionCoding.clock(&reader)
        guard reader.isAtEnd else { throw FormatError(.invalid, "original") }
        return Sample.Original(
            start: start, end: end, quantity: quantity, isUserEntered: isUserEntered, metadata: metadata,
            version: version, modified: clock)
    }
}

/// Encodes the record of a reverted edit: version (8), time (8), replica (4).
public enum ReversionCoding {
    public static func encode(_ reversion: Sample.Reversion?) -> [UInt8]? {
        guard let reversion else { return nil }
        var writer = RecordWriter()
        writer.append(reversion.version)
        write(reversion.modified, to: &writer)
        return writer.bytes
    }

    public static func decode(_ bytes: [UInt8]) throws(FormatError) -> Sample.Reversion {
        var reader = RecordReader(fields: bytes.rawBytes)
        let version = try reader.read(Int64.self)
        let clock = try clock(&reader)
        guard reader.isAtEnd else { throw FormatError(.invalid, "reversion") }
        return Sample.Reversion(version: version, modified: clock)
    }

    fileprivate static func write(_ clock: ChangeClock, to writer: inout RecordWriter) {
        writer.append(clock.time.nanoseconds)
        writer.append(clock.replica)
    }

    fileprivate static func clock(_ reader: inout RecordReader) throws(FormatError) -> ChangeClock {
        let time = Instant(nanoseconds: try reader.read(Int64.self))
        return ChangeClock(time: time, replica: try reader.read(UInt32.self))
    }
}
