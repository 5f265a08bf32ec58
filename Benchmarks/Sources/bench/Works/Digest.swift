import HealthKV

/// A digest of answers that does not depend on the order of equal times.
struct Digest {
    private var sum: UInt64 = 0
    private var count = 0

    mutating func add(_ hash: UInt64) {
        sum &+= hash
        count += 1
    }

    /// Adds a result of a range: identity, times and value.
    mutating func add(briefly sample: Sample) {
        var hash = WordHash()
        hash.mix(sample.id.high)
        hash.mix(sample.id.low)
        hash.mix(UInt64(bitPattern: sample.start.nanoseconds))
        hash.mix(UInt64(bitPattern: sample.end.nanoseconds))
        hash.mix(sample.quantity.value.bitPattern)
        add(hash.value)
    }

    /// Adds a whole sample: identity and content.
    mutating func add(_ sample: Sample) {
        var hash = WordHash()
        hash.mix(sample.id.high)
        hash.mix(sample.id.low)
        hash.mix(sample.syncIdentifier ?? "")
        for byte in sample.contentBytes { hash.mix(UInt64(byte)) }
        add(hash.value)
    }

    /// Adds columns; throws if their times decrease.
    mutating func add(_ columns: Columns) throws {
        guard columns.times.count == columns.values.count else { throw BenchFailure("columns of different lengths") }
        var last = Int64.min
        for (time, value) in zip(columns.times, columns.values) {
            if time < last { throw BenchFailure("the times of a column go back") }
            last = time
            var hash = WordHash()
            hash.mix(UInt64(bitPattern: time))
            hash.mix(value.bitPattern)
            add(hash.value)
        }
    }

    mutating func add(_ columns: ColumnSum) {
        var hash = WordHash()
        hash.mix(columns.times)
        hash.mix(columns.values)
        hash.mix(UInt64(columns.count))
        add(hash.value)
    }

    mutating func add(_ sums: DaySums) {
        for value in sums.values {
            var hash = WordHash()
            hash.mix(UInt64(count))
            // A day without samples may be positive or negative zero.
            hash.mix((value == 0 ? 0 : value).bitPattern)
            add(hash.value)
        }
    }

    /// Adds the values that do not depend on the order of addition: means only of whole numbers, whose sums are exact;
    /// other means differ in their last digits.
    mutating func add(_ points: [SeriesPoint], withMeans: Bool) {
        for point in points {
            var hash = WordHash()
            hash.mix(UInt64(count))
            hash.mix(UInt64(point.count))
            hash.mix(point.low.bitPattern)
            hash.mix(point.high.bitPattern)
            if withMeans { hash.mix(point.mean.bitPattern) }
            add(hash.value)
        }
    }

    var text: String { "\(count) \(String(sum, radix: 16))" }
}
