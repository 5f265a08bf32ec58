// Aggregates over row ranges of a decoded column. The bounds are checked once for all rows.
extension ScratchColumn where Element == Int64 {
    /// Returns the sum of some rows, truncated to 64 bits.
    public func sum(_ rows: Range<Int>) -> Int64 {
        // Safe: the extracted span holds exactly these rows.
        unsafe span.extracting(rows).withUnsafeBufferPointer { rows in
            var sum: Int64 = 0
            for index in 0..<rows.count { unsafe sum &+= rows[index] }
            return sum
        }
    }
}

extension ScratchColumn where Element == Double {
    /// Returns the sum of some rows, in an unspecified order of additions.
    public func sum(_ rows: Range<Int>) -> Double {
        // Safe: the extracted span holds exactly these rows.
        unsafe span.extracting(rows).withUnsafeBufferPointer { rows in
            // Each addition waits for the previous one, so use four independent sums.
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

    /// Returns the smallest value of those rows for which `counts` is positive; infinity if there is none.
    public func least(_ rows: Range<Int>, where counts: borrowing ScratchColumn<Int64>) -> Double {
        // Safe: both extracted spans hold exactly these rows.
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

    /// Returns the largest value of those rows for which `counts` is positive; minus infinity if there is none.
    public func greatest(_ rows: Range<Int>, where counts: borrowing ScratchColumn<Int64>) -> Double {
        // Safe: both extracted spans hold exactly these rows.
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
