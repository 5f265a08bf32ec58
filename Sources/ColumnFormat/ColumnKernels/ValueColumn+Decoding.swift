extension ValueColumn {
    /// Decodes all rows into `column`.
    func decode(_ span: RawSpan, into column: inout OutputColumn<Double>) {
        let rows = integers.rows
        // Safe: `extend` makes room for `rows` elements. The integers are decoded into the same memory (both types are
        // eight bytes wide and trivial) and converted to doubles in place.
        let out = unsafe column.extend(by: rows)
        unsafe out.withMemoryRebound(to: Int64.self, capacity: max(1, rows)) { words in
            var integerColumn = unsafe OutputColumn(words, capacity: rows)
            integers.decode(span, into: &integerColumn)
        }
        guard isDecimal else { return }
        unsafe ValueColumn.divide(out, rows, by: power)
        for index in 0..<exceptions {
            let row = Int(span.load(exceptionRows + 2 * index, as: UInt16.self))
            unsafe out[row] = Double(bitPattern: span.load(exceptionBits + 8 * index, as: UInt64.self))
        }
    }

    /// Returns the values of all rows.
    func decoded(_ span: RawSpan) -> [Double] {
        // Safe: the memory has room for all rows, and `decode` sets each of them.
        unsafe [Double](unsafeUninitializedCapacity: integers.rows) { buffer, count in
            guard let base = buffer.baseAddress else { return }
            var column = unsafe OutputColumn(base, capacity: integers.rows)
            decode(span, into: &column)
            count = integers.rows
        }
    }

    /// Converts the integers in `out` to doubles over `power`, in place.
    private static func divide(_ out: UnsafeMutablePointer<Double>, _ rows: Int, by power: Double) {
        if power == 1 {
            for row in 0..<rows { unsafe out[row] = Double(Int64(bitPattern: out[row].bitPattern)) }
        } else {
            for row in 0..<rows { unsafe out[row] = Double(Int64(bitPattern: out[row].bitPattern)) / power }
        }
    }
}
