import HealthModel

/// A position in the total order of samples: start, then end, then id. Each chunk owns a span between two points.
public struct Point: Hashable, Sendable, Comparable {
    public var start: Int64
    public var end: Int64
    public var id: SampleID

    public init(start: Int64, end: Int64, id: SampleID) {
        self.start = start
        self.end = end
        self.id = id
    }

    public static let least = Point(start: .min, end: .min, id: .zero)
    public static let greatest = Point(start: .max, end: .max, id: .max)

    /// Returns the first point of an instant.
    public static func at(_ start: Int64) -> Point { Point(start: start, end: .min, id: .zero) }

    @inline(__always)
    public static func < (left: Point, right: Point) -> Bool {
        if left.start != right.start { return left.start < right.start }
        if left.end != right.end { return left.end < right.end }
        return left.id < right.id
    }

    static let byteCount = 32

    /// Appends big-endian integers with inverted sign bits, so that bytes sort as points do.
    func append(to writer: inout ByteWriter) {
        writer.appendBigEndian(UInt64(bitPattern: start) ^ 1 << 63)
        writer.appendBigEndian(UInt64(bitPattern: end) ^ 1 << 63)
        writer.appendBigEndian(id.high)
        writer.appendBigEndian(id.low)
    }

    init(_ span: RawSpan, _ offset: Int) {
        start = Int64(bitPattern: span.loadBigEndian(offset, as: UInt64.self) ^ 1 << 63)
        end = Int64(bitPattern: span.loadBigEndian(offset + 8, as: UInt64.self) ^ 1 << 63)
        id = SampleID(
            high: span.loadBigEndian(offset + 16, as: UInt64.self),
            low: span.loadBigEndian(offset + 24, as: UInt64.self))
    }
}

/// The class of a sample's duration. With four classes, one sample of a year does not make every range read look back a
/// year.
public enum DurationClass: UInt8, Sendable, CaseIterable, Comparable {
    // Files contain the raw values: do not change them.
    case hour = 0
    case day = 1
    case month = 2
    case long = 3

    public init(start: Int64, end: Int64) {
        let (length, overflow) = end.subtractingReportingOverflow(start)
        if overflow || end == .max || length > DurationClass.month.longest {
            self = .long
        } else if length > DurationClass.day.longest {
            self = .month
        } else if length > DurationClass.hour.longest {
            self = .day
        } else {
            self = .hour
        }
    }

    /// The longest duration of the class in nanoseconds: a range read looks back this far.
    public var longest: Int64 {
        switch self {
        case .hour: 3_600_000_000_000
        case .day: 86_400_000_000_000
        case .month: 32 * 86_400_000_000_000
        case .long: .max
        }
    }

    public static func < (left: DurationClass, right: DurationClass) -> Bool { left.rawValue < right.rawValue }
}

/// The partition that chunks tile: one type and duration class.
public struct Lane: Hashable, Sendable, Comparable {
    public var type: UInt32
    public var duration: DurationClass

    public init(type: UInt32, duration: DurationClass) {
        self.type = type
        self.duration = duration
    }

    public static func < (left: Lane, right: Lane) -> Bool {
        left.type != right.type ? left.type < right.type : left.duration < right.duration
    }
}

/// The key of a chunk and of its details: the lane, and the lower bound of the owned span.
public struct ChunkKey: Hashable, Sendable, Comparable {
    public var lane: Lane
    public var lower: Point

    public init(lane: Lane, lower: Point) {
        self.lane = lane
        self.lower = lower
    }

    public static let byteCount = 5 + Point.byteCount

    public var bytes: [UInt8] {
        var writer = ByteWriter(reserving: ChunkKey.byteCount)
        append(to: &writer)
        return writer.bytes
    }

    private func append(to writer: inout ByteWriter) {
        writer.appendBigEndian(lane.type)
        writer.append(lane.duration.rawValue)
        lower.append(to: &writer)
    }

    /// Returns the key of the chunk's hot value: the chunk key, followed by the commit that wrote the value. The tree
    /// thereby records the value's commit on a different page than the value itself.
    public func stored(commit: UInt64) -> [UInt8] {
        var writer = ByteWriter(reserving: ChunkKey.storedByteCount)
        append(to: &writer)
        writer.appendBigEndian(commit)
        return writer.bytes
    }

    /// A key that sorts after every stored key of the chunk and before those of the next chunk.
    public var behindStored: [UInt8] { stored(commit: .max) }

    /// Returns the commit in the key of a hot value; `nil` for another key.
    public static func commit(_ stored: RawSpan) -> UInt64? {
        stored.byteCount == storedByteCount ? stored.loadBigEndian(byteCount, as: UInt64.self) : nil
    }

    static let storedByteCount = byteCount + 8

    /// Reads a key and checks its length and duration class. The key of a hot value may contain a commit.
    public init(_ span: RawSpan) throws(FormatError) {
        guard span.byteCount == ChunkKey.byteCount || span.byteCount == ChunkKey.storedByteCount else {
            throw FormatError(.invalid, "chunk key")
        }
        guard let duration = DurationClass(rawValue: span.load(4, as: UInt8.self)) else {
            throw FormatError(.unknown, "duration class")
        }
        lane = Lane(type: span.loadBigEndian(0, as: UInt32.self), duration: duration)
        lower = Point(span, 5)
    }

    public static func < (left: ChunkKey, right: ChunkKey) -> Bool {
        left.lane != right.lane ? left.lane < right.lane : left.lower < right.lower
    }
}

extension Point {
    public var bytes: [UInt8] {
        var writer = ByteWriter(reserving: Point.byteCount)
        append(to: &writer)
        return writer.bytes
    }

    /// Reads a bound from a header.
    public init(bound span: RawSpan) throws(FormatError) {
        guard span.byteCount == Point.byteCount else { throw FormatError(.invalid, "bound") }
        self.init(span, 0)
    }
}
