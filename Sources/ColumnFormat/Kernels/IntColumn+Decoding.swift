extension IntColumn {
    /// Decodes all rows into `column`.
    func decode(_ span: RawSpan, into column: inout OutputColumn<Int64>) {
        // Safe: `extend` makes room for `rows` elements, and every store below is at an index under `rows`.
        let out = unsafe column.extend(by: rows)
        guard rows > 0 else { return }
        switch encoding {
        case .constant: unsafe out.update(repeating: base, count: rows)
        case .offsets: unsafe decodeOffsets(span, out)
        case .differences: unsafe decodeDifferences(span, out)
        }
    }

    private func decodeOffsets(_ span: RawSpan, _ out: UnsafeMutablePointer<Int64>) {
        let (base, scale) = (base, scale)
        BitPacking.forEach(span, offset: packed, width: width, count: rows) { index, word in
            unsafe out[index] = base &+ scale &* Int64(bitPattern: word)
        }
        for index in 0..<exceptions {
            let row = Int(span.load(exceptionRows + 2 * index, as: UInt16.self))
            let word = span.load(exceptionWords + 8 * index, as: UInt64.self)
            unsafe out[row] = base &+ scale &* Int64(bitPattern: word)
        }
    }

    private func decodeDifferences(_ span: RawSpan, _ out: UnsafeMutablePointer<Int64>) {
        let (scale, least) = (scale, leastDifference)
        unsafe out[0] = base
        if exceptions == 0 {
            // The running sum stays in a register: this is the path of nearly every chunk.
            var time = base
            BitPacking.forEach(span, offset: packed, width: width, count: rows - 1) { index, word in
                time = time &+ scale &* (least &+ Int64(bitPattern: word))
                unsafe out[index &+ 1] = time
            }
            return
        }
        BitPacking.forEach(span, offset: packed, width: width, count: rows - 1) { index, word in
            unsafe out[index &+ 1] = Int64(bitPattern: word)
        }
        for index in 0..<exceptions {
            let row = Int(span.load(exceptionRows + 2 * index, as: UInt16.self))
            unsafe out[row] = span.load(exceptionWords + 8 * index, as: Int64.self)
        }
        var time = base
        // An exception at row 0 has no step and is overwritten.
        unsafe out[0] = base
        for row in 1..<max(1, rows) {
            time = unsafe time &+ scale &* (least &+ out[row])
            unsafe out[row] = time
        }
    }
}
