extension IntColumn {
    /// Decodes all rows into `column`.
    func decode(_ span: RawSpan, into column: inout OutputColumn<Int64>) {
        // Safe: `extend` makes room for `rows` elements, and every store below has an index less than `rows`.
        let out = unsafe column.extend(by: rows)
        if encoding == .constant {
            unsafe out.update(repeating: base, count: rows)
        } else {
            forEachValue(span) { row, value in unsafe out[row] = value }
        }
    }

    /// Returns the values of all rows.
    func decoded(_ span: RawSpan) -> [Int64] {
        // Safe: the memory has room for all rows, and each of them is set.
        unsafe [Int64](unsafeUninitializedCapacity: rows) { buffer, count in
            forEachValue(span) { row, value in unsafe buffer[row] = value }
            count = rows
        }
    }

    /// Calls `body` with the value of each row, in order.
    @inline(__always)
    func forEachValue(_ span: RawSpan, _ body: (Int, Int64) -> Void) {
        guard rows > 0 else { return }
        let (base, scale, least) = (base, scale, leastDifference)
        switch encoding {
        case .constant:
            for row in 0..<rows { body(row, base) }
        case .offsets:
            forEachWord(span, 0..<rows) { row, word in body(row, base &+ scale &* Int64(bitPattern: word)) }
        case .differences:
            // The running sum stays in a register: nearly every column of starts takes this path.
            var value = base
            body(0, value)
            forEachWord(span, 1..<rows) { row, word in
                value = value &+ scale &* (least &+ Int64(bitPattern: word))
                body(row, value)
            }
        }
    }

    /// Returns `true` if every value lies within limits. The bounds that the column's widths imply nearly always
    /// suffice; if they exceed the limits, scans all values.
    func staysWithin(_ limits: ClosedRange<Int64>, _ span: RawSpan) -> Bool {
        if encoding == .constant { return limits.contains(base) }
        if let reach = reach(span), limits.contains(reach.lowerBound), limits.contains(reach.upperBound) { return true }
        var stays = true
        forEachValue(span) { _, value in stays = stays && limits.contains(value) }
        return stays
    }

    /// Returns bounds that no value exceeds; `nil` if they need more than a simple computation.
    func reach(_ span: RawSpan) -> ClosedRange<Int64>? {
        guard width < 57 else { return nil }
        var (most, least) = (Int64(1) << Int64(width) - 1, Int64(0))
        var overflows = false
        func apply(_ result: (partialValue: Int64, overflow: Bool)) -> Int64 {
            overflows = overflows || result.overflow
            return result.partialValue
        }
        if encoding == .differences {
            // The bound with all steps in one direction, and with all steps in the other.
            let steps = Int64(max(0, rows - 1))
            most = apply(
                steps.multipliedReportingOverflow(by: max(0, apply(most.addingReportingOverflow(leastDifference)))))
            least = apply(steps.multipliedReportingOverflow(by: min(0, leastDifference)))
        }
        for index in 0..<exceptions {
            let word = Int64(bitPattern: span.load(exceptionWords + 8 * index, as: UInt64.self))
            if encoding == .differences {
                let step = apply(word.addingReportingOverflow(leastDifference))
                most = apply(most.addingReportingOverflow(max(0, step)))
                least = apply(least.addingReportingOverflow(min(0, step)))
            } else {
                (most, least) = (max(most, word), min(least, word))
            }
        }
        let lower = apply(base.addingReportingOverflow(apply(least.multipliedReportingOverflow(by: scale))))
        let upper = apply(base.addingReportingOverflow(apply(most.multipliedReportingOverflow(by: scale))))
        return overflows ? nil : lower...upper
    }

    /// Calls `body` with the word of each row in `range`, including exceptions. Differences have no word for row 0.
    @inline(__always)
    private func forEachWord(_ span: RawSpan, _ range: Range<Int>, _ body: (Int, UInt64) -> Void) {
        let first = encoding == .differences ? 1 : 0
        var row = range.lowerBound
        var index = exceptions == 0 ? 0 : firstException(span, from: row)
        while row < range.upperBound {
            let next = index < exceptions ? min(exceptionRow(span, index), range.upperBound) : range.upperBound
            BitPacking.forEach(span, offset: packed, width: width, row - first..<next - first) { position, word in
                body(position &+ first, word)
            }
            row = next
            guard row < range.upperBound else { return }
            body(row, exceptionWord(span, index))
            row += 1
            index += 1
        }
    }

    @inline(__always)
    private func exceptionRow(_ span: RawSpan, _ index: Int) -> Int {
        Int(span.load(exceptionRows + 2 * index, as: UInt16.self))
    }

    @inline(__always)
    private func exceptionWord(_ span: RawSpan, _ index: Int) -> UInt64 {
        span.load(exceptionWords + 8 * index, as: UInt64.self)
    }

    /// Returns the index of the first exception at or after `row`.
    private func firstException(_ span: RawSpan, from row: Int) -> Int {
        var (low, high) = (0, exceptions)
        while low < high {
            let middle = (low + high) / 2
            if exceptionRow(span, middle) < row { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the sum of the steps from one row to a later row, in units of the scale. For differences only.
    func sumOfSteps(_ span: RawSpan, from row: Int, to later: Int) -> Int64 {
        // The packed words of exceptions are zero.
        var sum = BitPacking.sum(span, offset: packed, width: width, row..<later)
        var index = exceptions == 0 ? 0 : firstException(span, from: row + 1)
        while index < exceptions, exceptionRow(span, index) <= later {
            sum &+= exceptionWord(span, index)
            index += 1
        }
        return leastDifference &* Int64(later - row) &+ Int64(bitPattern: sum)
    }

    /// Returns the sum of the values before a row, truncated to 64 bits.
    func sum(_ span: RawSpan, before row: Int) -> Int64 {
        precondition(row >= 0 && row <= rows)
        var sum: Int64 = 0
        switch encoding {
        case .constant: sum = base &* Int64(row)
        case .offsets:
            // The packed words of exceptions are zero.
            var words = BitPacking.sum(span, offset: packed, width: width, 0..<row)
            for index in 0..<exceptions where exceptionRow(span, index) < row { words &+= exceptionWord(span, index) }
            sum = base &* Int64(row) &+ scale &* Int64(bitPattern: words)
        case .differences: forEachValue(span) { index, value in sum &+= index < row ? value : 0 }
        }
        return sum
    }

    /// Returns the rows of an ascending column whose values lie in `values`, and the value of the first such row.
    func rows(_ span: RawSpan, in values: ClosedRange<Int64>) -> (range: Range<Int>, first: Int64) {
        guard rows > 0 else { return (0..<0, 0) }
        let first = place(span, notBefore: values.lowerBound, from: (0, value(span, at: 0)))
        guard values.upperBound < .max else { return (first.row..<rows, first.value) }
        let end = place(span, notBefore: values.upperBound + 1, from: first)
        return (first.row..<end.row, first.value)
    }

    private typealias Place = (row: Int, value: Int64)

    /// Returns the first place at or after `place` with a value of at least `bound`; the place after the last row if
    /// there is none.
    private func place(_ span: RawSpan, notBefore bound: Int64, from place: Place) -> Place {
        guard place.row < rows, place.value < bound else { return place }
        guard encoding == .differences else {
            var (low, high) = (place.row + 1, rows)
            while low < high {
                let middle = (low + high) / 2
                if value(span, at: middle) < bound { low = middle + 1 } else { high = middle }
            }
            return (low, low < rows ? value(span, at: low) : bound)
        }
        var (row, value) = place
        // Skip most rows in strides: summing a stride takes less time than testing each row.
        let stride = 32
        while row + stride < rows {
            let next = value &+ scale &* sumOfSteps(span, from: row, to: row + stride)
            if next >= bound { break }
            (row, value) = (row + stride, next)
        }
        while row + 1 < rows, value < bound {
            value = step(span, from: row, value, to: row + 1)
            row += 1
        }
        return value < bound ? (rows, value) : (row, value)
    }

    /// Returns the distinct values of all rows, unordered.
    func distinctValues(_ span: RawSpan) -> [Int64] {
        if encoding == .offsets, width <= 6, exceptions == 0 {
            var seen: UInt64 = 0
            forEachWord(span, 0..<rows) { _, word in seen |= 1 << (word & 63) }
            return (0..<64).filter { seen >> $0 & 1 == 1 }.map { base &+ scale &* $0 }
        }
        var seen: Set<Int64> = []
        var last: Int64?
        forEachValue(span) { _, value in
            if value != last { seen.insert(value) }
            last = value
        }
        return Array(seen)
    }
}
