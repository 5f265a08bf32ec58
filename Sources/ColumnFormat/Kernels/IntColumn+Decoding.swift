extension IntColumn {
    /// Decodes all rows into `column`.
    func decode(_ span: RawSpan, into column: inout OutputColumn<Int64>) {
        // Safe: `extend` makes room for `rows` elements, and every store below is at an index under `rows`.
        let out = unsafe column.extend(by: rows)
        if encoding == .constant {
            unsafe out.update(repeating: base, count: rows)
        } else {
            forEachValue(span) { row, value in unsafe out[row] = value }
        }
    }

    /// The values of all rows.
    func decoded(_ span: RawSpan) -> [Int64] {
        // Safe: the memory has room for all rows, and every one of them is set.
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
            // The running sum stays in a register: this is the path of nearly every column of starts.
            var value = base
            body(0, value)
            forEachWord(span, 1..<rows) { row, word in
                value = value &+ scale &* (least &+ Int64(bitPattern: word))
                body(row, value)
            }
        }
    }

    /// Calls `body` with the word of each row in `range`, exceptions in their places. Differences have none for row 0.
    @inline(__always)
    private func forEachWord(_ span: RawSpan, _ range: Range<Int>, _ body: (Int, UInt64) -> Void) {
        let first = encoding == .differences ? 1 : 0
        var row = range.lowerBound
        var index = 0
        while index < exceptions, exceptionRow(span, index) < row { index += 1 }
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

    /// The sum of the steps from the first row to `row`, in units of the scale.
    func sumOfSteps(_ span: RawSpan, to row: Int) -> Int64 {
        var sum = leastDifference &* Int64(row)
        forEachWord(span, 1..<row + 1) { _, word in sum &+= Int64(bitPattern: word) }
        return sum
    }

    /// The rows of an ascending column whose values lie in `values`.
    func rows(_ span: RawSpan, in values: ClosedRange<Int64>) -> Range<Int> {
        let (lower, upper) = (values.lowerBound, values.upperBound)
        var before = 0
        var through = 0
        // Counting without branches is faster than stopping where the answer is known.
        forEachValue(span) { _, value in
            before &+= value < lower ? 1 : 0
            through &+= value <= upper ? 1 : 0
        }
        return before..<through
    }

    /// The different values of all rows, in no order.
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
