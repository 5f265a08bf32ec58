import ColumnFormat
import HealthModel
import LMDB

/// The number of live samples of a type, in total and by source. Every writer maintains it; it is derived and can be
/// recomputed.
struct TypeCounts: Sendable, Equatable {
    struct Count: Sendable, Equatable {
        var samples: Int64 = 0
        var shadowed: Int64 = 0
    }

    /// The counts by number of the source.
    var sources: [UInt32: Count] = [:]
    /// Rows that a mass operation removed but that are still in chunks.
    var hidden: Int64 = 0

    /// The magnitude of each count is below this limit, so that sums cannot overflow.
    private static let limit: UInt64 = 1 << 36

    var samples: Int { Int(sources.values.reduce(0) { $0 + $1.samples }) }
    var shadowed: Int { Int(sources.values.reduce(0) { $0 + $1.shadowed }) }
    var rowsInChunks: Int { samples + Int(hidden) }

    mutating func add(_ row: StoredRow, source: UInt32, _ sign: Int64) {
        add(Count(samples: 1, shadowed: row.isShadowed ? 1 : 0), source: source, sign)
    }

    mutating func add(_ added: Count, source: UInt32, _ sign: Int64) {
        var count = sources[source] ?? Count()
        count.samples += sign * added.samples
        count.shadowed += sign * added.shadowed
        sources[source] = count == Count() ? nil : count
    }

    func value(key: [UInt8], stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(hidden)
        record.append(UInt32(sources.count))
        for (source, count) in sources.sorted(by: { $0.key < $1.key }) {
            record.append(source)
            record.append(count.samples)
            record.append(count.shadowed)
        }
        return record.value(table: .summaries, key: key, stamp: stamp)
    }

    init() {}

    init(_ span: RawSpan, key: [UInt8]) throws(FormatError) {
        var record = try RecordReader(span, table: .summaries, key: key)
        hidden = try record.read(Int64.self)
        for _ in 0..<(try record.read(UInt32.self)) {
            let source = try record.read(UInt32.self)
            let samples = try record.read(Int64.self)
            let count = Count(samples: samples, shadowed: try record.read(Int64.self))
            guard count.samples.magnitude < TypeCounts.limit, count.shadowed.magnitude < TypeCounts.limit else {
                throw FormatError(.invalid, "count")
            }
            sources[source] = count
        }
        guard hidden.magnitude < TypeCounts.limit else { throw FormatError(.invalid, "count") }
    }
}
