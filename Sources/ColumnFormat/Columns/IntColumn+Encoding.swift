extension IntColumn {
    /// The encodings that the planner tries.
    struct Hints: OptionSet {
        let rawValue: Int
        /// Try differences between consecutive rows.
        static let differences = Hints(rawValue: 1)
        /// Try a common factor of time.
        static let scaled = Hints(rawValue: 2)
    }

    /// The encoding of a column and its size.
    struct Plan {
        var encoding: Encoding
        var width = 0
        var scale = 0
        var base: Int64
        var leastDifference: Int64 = 0
        var exceptions = 0
        var byteCount = 16
        /// The words to pack, in units of the scale: offsets from the smallest value, or differences minus the smallest
        /// difference.
        var words: [UInt64] = []
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
        let best = planOffsets(values, least: least, scale: scale)
        if hints.contains(.differences), UInt64(bitPattern: greatest &- least) <= UInt64(Int64.max),
            let plan = planDifferences(best.words, base: values[0], scale: scale), plan.byteCount < best.byteCount
        {
            return plan
        }
        return best
    }

    /// Returns the greatest scale that divides every offset from the smallest value, and therefore every difference
    /// between two values.
    private static func commonScale(_ values: Span<Int64>, least: Int64) -> Int {
        // Literal divisors: the compiler turns a division by a constant into a multiplication.
        if isDivisible(values, least, by: 60_000_000_000) { return 4 }
        if isDivisible(values, least, by: 1_000_000_000) { return 3 }
        if isDivisible(values, least, by: 1_000_000) { return 2 }
        return isDivisible(values, least, by: 1_000) ? 1 : 0
    }

    @inline(__always)
    private static func isDivisible(_ values: Span<Int64>, _ least: Int64, by factor: UInt64) -> Bool {
        for index in 0..<values.count where UInt64(bitPattern: values[index] &- least) % factor != 0 { return false }
        return true
    }

    private static func planOffsets(_ values: Span<Int64>, least: Int64, scale: Int) -> Plan {
        var plan = Plan(encoding: .offsets, scale: scale, base: least)
        switch scale {
        case 0: plan.words = distances(values, least, in: 1)
        case 1: plan.words = distances(values, least, in: 1_000)
        case 2: plan.words = distances(values, least, in: 1_000_000)
        case 3: plan.words = distances(values, least, in: 1_000_000_000)
        default: plan.words = distances(values, least, in: 60_000_000_000)
        }
        settleWidth(&plan, fixed: 16)
        return plan
    }

    @inline(__always)
    private static func distances(_ values: Span<Int64>, _ least: Int64, in factor: UInt64) -> [UInt64] {
        var words: [UInt64] = []
        words.reserveCapacity(values.count)
        for index in 0..<values.count { words.append(UInt64(bitPattern: values[index] &- least) / factor) }
        return words
    }

    /// Plans differences between consecutive rows, from the offsets of all rows, which fit into signed differences.
    private static func planDifferences(_ distances: [UInt64], base: Int64, scale: Int) -> Plan? {
        var words: [UInt64] = []
        words.reserveCapacity(distances.count)
        var least = Int64.max
        for index in 1..<distances.count {
            let step = Int64(bitPattern: distances[index] &- distances[index - 1])
            least = min(least, step)
            words.append(UInt64(bitPattern: step))
        }
        for index in words.indices { words[index] &-= UInt64(bitPattern: least) }
        var plan = Plan(encoding: .differences, scale: scale, base: base, leastDifference: least, words: words)
        settleWidth(&plan, fixed: 24)
        return plan
    }

    private static func settleWidth(_ plan: inout Plan, fixed: Int) {
        (plan.width, plan.exceptions) = WidthHistogram(plan.words.span).cheapest(rows: plan.words.count)
        plan.byteCount =
            fixed + 10 * plan.exceptions + BitPacking.byteCount(words: plan.words.count, width: plan.width)
    }

    /// Writes the planned column.
    static func write(_ plan: Plan, into writer: inout ByteWriter) {
        writer.append(plan.encoding.rawValue)
        writer.append(UInt8(plan.width))
        writer.append(UInt8(plan.scale))
        writer.append(0 as UInt8)
        writer.append(UInt16(plan.exceptions))
        writer.append(0 as UInt16)
        writer.append(plan.base)
        guard plan.encoding != .constant else { return }
        if plan.encoding == .differences { writer.append(plan.leastDifference) }
        guard plan.exceptions > 0 else {
            BitPacking.pack(plan.words.span, width: plan.width, into: &writer.bytes)
            return
        }
        var words = plan.words
        let first = plan.encoding == .differences ? 1 : 0
        var exceptional: [UInt64] = []
        for index in words.indices where BitPacking.width(of: words[index]) > plan.width {
            writer.append(UInt16(index + first))
            exceptional.append(words[index])
            words[index] = 0
        }
        for word in exceptional { writer.append(word) }
        BitPacking.pack(words.span, width: plan.width, into: &writer.bytes)
    }
}

/// The number of words by width, so that a few wide words can become exceptions.
struct WidthHistogram {
    private var counts = [Int](repeating: 0, count: 65)

    init(_ words: Span<UInt64>) {
        for index in 0..<words.count { counts[64 - words[index].leadingZeroBitCount] += 1 }
    }

    /// Returns the width with the smallest total size, at ten bytes per exception, and its number of exceptions.
    func cheapest(rows: Int) -> (width: Int, exceptions: Int) {
        var best = (width: 64, exceptions: 0)
        var bestBytes = BitPacking.byteCount(words: rows, width: 64)
        var exceptions = 0
        for width in BitPacking.widest + 1...64 { exceptions += counts[width] }
        var width = BitPacking.widest
        if exceptions == 0 {
            // A wider column than the words need is no smaller; of equal ones the widest is taken.
            width = counts.lastIndex { $0 > 0 } ?? 0
            let bytes = BitPacking.byteCount(words: rows, width: width)
            while width < BitPacking.widest, BitPacking.byteCount(words: rows, width: width + 1) == bytes { width += 1 }
        }
        // A narrower column has no fewer exceptions.
        while width >= 0, 10 * exceptions < bestBytes {
            let bytes = BitPacking.byteCount(words: rows, width: width) + 10 * exceptions
            if bytes < bestBytes, exceptions <= Int(UInt16.max) {
                (best, bestBytes) = ((width, exceptions), bytes)
            }
            exceptions += counts[width]
            width -= 1
        }
        return best
    }
}
