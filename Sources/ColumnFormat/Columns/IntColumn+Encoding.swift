extension IntColumn {
    /// What the encoder may assume and try.
    struct Hints: OptionSet {
        let rawValue: Int
        /// Try differences from row to row.
        static let differences = Hints(rawValue: 1)
        /// Look for a common factor of time.
        static let scaled = Hints(rawValue: 2)
    }

    /// How a column will be written, and how many bytes that takes.
    struct Plan {
        var encoding: Encoding
        var width = 0
        var scale = 0
        var base: Int64
        var leastDifference: Int64 = 0
        var exceptions = 0
        var byteCount = 16
    }

    /// Chooses the smallest encoding for `values`, which must not be empty.
    static func plan(_ values: Span<Int64>, _ hints: Hints) -> Plan {
        var (least, greatest) = (values[0], values[0])
        for index in 1..<max(1, values.count) {
            let value = values[index]
            least = min(least, value)
            greatest = max(greatest, value)
        }
        if least == greatest { return Plan(encoding: .constant, base: least) }
        let scale = hints.contains(.scaled) ? commonScale(values, least: least) : 0
        var best = planOffsets(values, least: least, scale: scale)
        if hints.contains(.differences), let plan = planDifferences(values, scale: scale), plan.byteCount < best.byteCount {
            best = plan
        }
        return best
    }

    /// The greatest scale that divides every distance from the least value, and so every difference between two.
    private static func commonScale(_ values: Span<Int64>, least: Int64) -> Int {
        var scale = scales.count - 1
        var factor = UInt64(scales[scale])
        for index in 0..<values.count {
            let distance = UInt64(bitPattern: values[index] &- least)
            while scale > 0, distance % factor != 0 {
                scale -= 1
                factor = UInt64(scales[scale])
            }
            if scale == 0 { break }
        }
        return scale
    }

    private static func planOffsets(_ values: Span<Int64>, least: Int64, scale: Int) -> Plan {
        var plan = Plan(encoding: .offsets, scale: scale, base: least)
        let factor = UInt64(scales[scale])
        var histogram = WidthHistogram()
        for index in 0..<values.count { histogram.add(UInt64(bitPattern: values[index] &- least) / factor) }
        (plan.width, plan.exceptions) = histogram.cheapest(rows: values.count)
        plan.byteCount = 16 + 10 * plan.exceptions + BitPacking.byteCount(words: values.count, width: plan.width)
        return plan
    }

    private static func planDifferences(_ values: Span<Int64>, scale: Int) -> Plan? {
        let factor = scales[scale]
        var least = Int64.max
        for index in 1..<values.count {
            let (difference, overflow) = values[index].subtractingReportingOverflow(values[index - 1])
            if overflow { return nil }
            least = min(least, difference)
        }
        least /= factor
        var plan = Plan(encoding: .differences, scale: scale, base: values[0], leastDifference: least)
        var histogram = WidthHistogram()
        for index in 1..<values.count {
            histogram.add(UInt64(bitPattern: (values[index] - values[index - 1]) / factor &- least))
        }
        (plan.width, plan.exceptions) = histogram.cheapest(rows: values.count - 1)
        plan.byteCount = 24 + 10 * plan.exceptions + BitPacking.byteCount(words: values.count - 1, width: plan.width)
        return plan
    }

    /// Appends the column as planned.
    static func write(_ values: Span<Int64>, _ plan: Plan, into writer: inout ByteWriter) {
        writer.append(plan.encoding.rawValue)
        writer.append(UInt8(plan.width))
        writer.append(UInt8(plan.scale))
        writer.append(0 as UInt8)
        writer.append(UInt16(plan.exceptions))
        writer.append(0 as UInt16)
        writer.append(plan.base)
        guard plan.encoding != .constant else { return }
        if plan.encoding == .differences { writer.append(plan.leastDifference) }
        var words = remainders(values, plan)
        let first = plan.encoding == .differences ? 1 : 0
        var exceptional: [UInt64] = []
        if plan.exceptions > 0 {
            for index in words.indices where BitPacking.width(of: words[index]) > plan.width {
                writer.append(UInt16(index + first))
                exceptional.append(words[index])
                words[index] = 0
            }
            for word in exceptional { writer.append(word) }
        }
        BitPacking.pack(words.span, width: plan.width, into: &writer.bytes)
    }

    private static func remainders(_ values: Span<Int64>, _ plan: Plan) -> [UInt64] {
        var words: [UInt64] = []
        words.reserveCapacity(values.count)
        if plan.encoding == .differences {
            let factor = scales[plan.scale]
            for index in 1..<values.count {
                words.append(UInt64(bitPattern: (values[index] - values[index - 1]) / factor &- plan.leastDifference))
            }
        } else {
            let factor = UInt64(scales[plan.scale])
            for index in 0..<values.count {
                let offset = UInt64(bitPattern: values[index] &- plan.base)
                words.append(factor == 1 ? offset : offset / factor)
            }
        }
        return words
    }
}

/// How many words need each width, so that a few wide ones can be set aside as exceptions.
struct WidthHistogram {
    private var counts = [Int](repeating: 0, count: 65)

    @inline(__always)
    mutating func add(_ word: UInt64) { counts[64 - word.leadingZeroBitCount] += 1 }

    /// The width with the fewest bytes in all, an exception at ten bytes, and how many exceptions it leaves.
    func cheapest(rows: Int) -> (width: Int, exceptions: Int) {
        var best = (width: 64, exceptions: 0)
        var bestBytes = BitPacking.byteCount(words: rows, width: 64)
        var exceptions = counts[58...64].reduce(0, +)
        for width in stride(from: BitPacking.widest, through: 0, by: -1) {
            let bytes = BitPacking.byteCount(words: rows, width: width) + 10 * exceptions
            if bytes < bestBytes, exceptions <= Int(UInt16.max) {
                (best, bestBytes) = ((width, exceptions), bytes)
            }
            exceptions += counts[width]
        }
        return best
    }
}
