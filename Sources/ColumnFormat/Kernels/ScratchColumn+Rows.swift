// What stretches of a decoded column come to. The bounds are checked once for all rows.
extension ScratchColumn where Element == Int64 {
    /// The sum of some rows; what does not fit is cut off.
    public func sum(_ rows: Range<Int>) -> Int64 {
        // Safe: the span that is extracted holds just these rows.
        unsafe span.extracting(rows).withUnsafeBufferPointer { rows in
            var sum: Int64 = 0
            for index in 0..<rows.count { unsafe sum &+= rows[index] }
            return sum
        }
    }
}

extension ScratchColumn where Element == Double {
    /// The sum of some rows, added up in no particular order.
    public func sum(_ rows: Range<Int>) -> Double {
        // Safe: the span that is extracted holds just these rows.
        unsafe span.extracting(rows).withUnsafeBufferPointer { rows in
            // An addition waits for the one before it, so four run side by side.
            var (a, b, c, d) = (0.0, 0.0, 0.0, 0.0)
            var index = 0
            while index &+ 4 <= rows.count {
                unsafe a += rows[index]
                unsafe b += rows[index &+ 1]
                unsafe c += rows[index &+ 2]
                unsafe d += rows[index &+ 3]
                index &+= 4
            }
            while index < rows.count {
                unsafe a += rows[index]
                index &+= 1
            }
            return (a + b) + (c + d)
        }
    }

    /// The least of some rows, of those for which `counts` holds more than zero; infinite where there is none.
    public func least(_ rows: Range<Int>, where counts: borrowing ScratchColumn<Int64>) -> Double {
        // Safe: both spans that are extracted hold just these rows.
        unsafe span.extracting(rows).withUnsafeBufferPointer { values in
            unsafe counts.span.extracting(rows).withUnsafeBufferPointer { counts in
                var least = Double.infinity
                for index in 0..<values.count {
                    let value = unsafe counts[index] > 0 ? values[index] : .infinity
                    least = value < least ? value : least
                }
                return least
            }
        }
    }

    /// The greatest of some rows, of those for which `counts` holds more than zero; minus infinity where there is none.
    public func greatest(_ rows: Range<Int>, where counts: borrowing ScratchColumn<Int64>) -> Double {
        // Safe: both spans that are extracted hold just these rows.
        unsafe span.extracting(rows).withUnsafeBufferPointer { values in
            unsafe counts.span.extracting(rows).withUnsafeBufferPointer { counts in
                var greatest = -Double.infinity
                for index in 0..<values.count {
                    let value = unsafe counts[index] > 0 ? values[index] : -.infinity
                    greatest = value > greatest ? value : greatest
                }
                return greatest
            }
        }
    }
}
