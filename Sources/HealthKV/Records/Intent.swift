import ColumnFormat
import HealthModel

/// A mass operation that is committed before it is carried out. From its commit on, every reader skips the samples that
/// it removes, and bounded steps delete them from the chunks.
struct Intent: Sendable, Hashable {
    enum Scope: Sendable, Hashable {
        /// Samples of a type that start in a half-open range.
        case range(type: UInt32, from: Int64, to: Int64)
        /// Samples of a source, in all its revisions.
        case source(UInt32)
    }

    var scope: Scope
    /// The operation covers only samples that last changed before this position.
    var commit: UInt64
    var ordinal: UInt32
    /// When the operation was made. Its deletions are stamped with this time, however late a step carries them out.
    var clock: ChangeClock
    var time: Int64
    /// Whether each removed sample leaves a tombstone, so that no peer or import brings it back.
    var leavesTombstones: Bool
    /// Chunks before this key are done.
    var position: ChunkKey

    static let upkeepKind: UInt8 = 1

    var key: [UInt8] {
        var writer = ByteWriter(reserving: 13)
        writer.append(Intent.upkeepKind)
        writer.appendBigEndian(commit)
        writer.appendBigEndian(ordinal)
        return writer.bytes
    }

    func value(commit writing: UInt64) -> [UInt8] {
        var record = RecordWriter()
        record.append(commit)
        record.append(ordinal)
        record.append(clock.time.nanoseconds)
        record.append(clock.replica)
        record.append(time)
        record.append(leavesTombstones ? 1 : 0 as UInt8)
        record.append(position.bytes)
        scope.append(to: &record)
        return record.value(table: .upkeep, key: key, commit: writing)
    }

    init(scope: Scope, commit: UInt64, ordinal: UInt32, clock: ChangeClock, time: Int64, leavesTombstones: Bool) {
        self.scope = scope
        self.commit = commit
        self.ordinal = ordinal
        self.clock = clock
        self.time = time
        self.leavesTombstones = leavesTombstones
        position = ChunkKey(lane: Lane(type: 0, duration: .hour), lower: .least)
        if case .range(let type, let from, _) = scope {
            position = ChunkKey(lane: Lane(type: type, duration: .hour), lower: .at(from))
        }
    }

    init(_ span: RawSpan, key: [UInt8]) throws(FormatError) {
        var record = try RecordReader(span, table: .upkeep, key: key)
        commit = try record.read(UInt64.self)
        ordinal = try record.read(UInt32.self)
        clock = ChangeClock(
            time: Instant(nanoseconds: try record.read(Int64.self)), replica: try record.read(UInt32.self))
        time = try record.read(Int64.self)
        leavesTombstones = try record.read(UInt8.self) != 0
        let positionBytes = try record.readBytes()
        position = try ChunkKey(positionBytes.rawBytes)
        scope = try Scope(&record)
        // A finished operation is removed under the key that its fields give.
        guard key == self.key else { throw FormatError(.misplaced, "mass operation") }
    }

    /// Returns `true` if the operation may cover samples of this lane and span of starts.
    func mayTouch(_ lane: Lane, _ starts: ClosedRange<Int64>) -> Bool {
        switch scope {
        case .range(let type, let from, let to):
            lane.type == type && starts.lowerBound < to && starts.upperBound >= from
        case .source: true
        }
    }

    /// Returns `true` if the operation removes this row. `source` is the number of the row's source.
    func hides(_ row: StoredRow, type: UInt32, source: UInt32) -> Bool {
        guard (row.commit, row.ordinal) < (commit, ordinal) else { return false }
        switch scope {
        case .range(let wanted, let from, let to): return type == wanted && row.start >= from && row.start < to
        case .source(let wanted): return source == wanted
        }
    }
}

/// The form in which a scope is stored, in intents and in change records.
extension Intent.Scope {
    init(_ record: inout RecordReader) throws(FormatError) {
        let kind = try record.read(UInt8.self)
        let number = try record.read(UInt32.self)
        switch kind {
        case 1: self = .range(type: number, from: try record.read(Int64.self), to: try record.read(Int64.self))
        case 2: self = .source(number)
        default: throw FormatError(.unknown, "scope of a mass operation")
        }
    }

    func append(to record: inout RecordWriter) {
        switch self {
        case .range(let type, let from, let to):
            record.append(1 as UInt8)
            record.append(type)
            record.append(from)
            record.append(to)
        case .source(let number):
            record.append(2 as UInt8)
            record.append(number)
        }
    }
}
