import ColumnFormat
import HealthModel
import LMDB

/// The unfinished mass operations.
enum IntentTable {
    static func key(_ intent: Intent) -> [UInt8] {
        var writer = ByteWriter(reserving: 13)
        writer.append(UpkeepKind.intent)
        writer.appendBigEndian(intent.commit)
        writer.appendBigEndian(intent.ordinal)
        return writer.bytes
    }

    /// Returns the lanes that an operation may touch.
    static func lanes(of intent: Intent, in snapshot: Snapshot) throws -> [Lane] {
        var types = try ChunkTable.typesWithChunks(in: snapshot)
        if case .range(let type, _, _) = intent.scope { types = types.filter { $0 == type } }
        return types.flatMap { type in DurationClass.allCases.map { Lane(type: type, duration: $0) } }
    }

    /// Returns the unfinished mass operations.
    static func loadIntents(in snapshot: Snapshot) throws -> [Intent] {
        var intents: [Intent] = []
        try UpkeepKind.forEach(UpkeepKind.intent, in: snapshot) { key, value in
            intents.append(try Intent(value, key: key))
            return true
        }
        return intents
    }

    static func put(_ intent: Intent, in txn: inout WriteTransaction) throws {
        try txn.put(.upkeep, key(intent), intent.value(stamp: txn.stamp))
    }

    static func remove(_ intent: Intent, in txn: inout WriteTransaction) throws {
        try txn.remove(.upkeep, key(intent))
    }
}

/// The form in which an intent is stored.
extension Intent {
    func value(stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(commit)
        record.append(ordinal)
        record.append(clock.time.nanoseconds)
        record.append(clock.replica)
        record.append(time)
        record.append(leavesTombstones ? 1 : 0 as UInt8)
        record.append(position.bytes)
        scope.append(to: &record)
        return record.value(table: .upkeep, key: IntentTable.key(self), stamp: stamp)
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
        guard key == IntentTable.key(self) else { throw FormatError(.misplaced, "mass operation") }
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
