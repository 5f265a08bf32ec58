/// A column of doubles, stored without loss: as whole numbers over a power of ten if that is exact, otherwise as raw
/// bits.
///
/// ```
///  offset  size  field
///       0     1  encoding: 0 raw bits, 1 decimal
///       1     1  decimal exponent: value = integer / 10^exponent
///       2     2  number of exceptions (decimal only)
///       4     4  zero
///       8   2*e  rows of the exceptions, ascending
///       -   8*e  their raw bits
///       -     -  an integer column: the scaled integers or the bits; exceptions repeat a neighbour there
/// ```
public struct ValueColumn: Sendable {
    static let powers: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

    let isDecimal: Bool
    let power: Double
    let exceptions: Int
    let exceptionRows: Int
    let exceptionBits: Int
    let integers: IntColumn

    init(_ span: RawSpan, _ range: Range<Int>, rows: Int) throws(FormatError) {
        guard range.count >= 8 else { throw FormatError(.truncated, "value column") }
        let start = range.lowerBound
        let encoding = span.load(start, as: UInt8.self)
        let exponent = Int(span.load(start + 1, as: UInt8.self))
        guard encoding <= 1 else { throw FormatError(.unknown, "value encoding") }
        guard exponent < ValueColumn.powers.count else { throw FormatError(.invalid, "decimal exponent") }
        isDecimal = encoding == 1
        power = ValueColumn.powers[exponent]
        exceptions = isDecimal ? Int(span.load(start + 2, as: UInt16.self)) : 0
        exceptionRows = start + 8
        exceptionBits = exceptionRows + 2 * exceptions
        let integersStart = exceptionBits + 8 * exceptions
        guard integersStart <= range.upperBound else { throw FormatError(.truncated, "value column") }
        integers = try IntColumn(span, integersStart..<range.upperBound, rows: rows)
        var last = -1
        for index in 0..<exceptions {
            let row = Int(span.load(exceptionRows + 2 * index, as: UInt16.self))
            guard row > last, row < rows else { throw FormatError(.invalid, "value exception") }
            last = row
        }
    }

    /// Returns one row's value.
    func value(_ span: RawSpan, at row: Int) -> Double {
        if exceptions > 0, let bits = exception(span, row) { return Double(bitPattern: bits) }
        let integer = integers.value(span, at: row)
        return isDecimal ? Double(integer) / power : Double(bitPattern: UInt64(bitPattern: integer))
    }

    private func exception(_ span: RawSpan, _ row: Int) -> UInt64? {
        var (low, high) = (0, exceptions)
        while low < high {
            let middle = (low + high) / 2
            let found = Int(span.load(exceptionRows + 2 * middle, as: UInt16.self))
            if found == row { return span.load(exceptionBits + 8 * middle, as: UInt64.self) }
            if found < row { low = middle + 1 } else { high = middle }
        }
        return nil
    }
}

extension ValueColumn {
    /// The encoding of a column of values.
    struct Plan {
        var isDecimal: Bool
        var exponent = 0
        /// The rows whose values no whole number can represent, and their raw bits.
        var exceptions: [Int] = []
        var exceptionBits: [UInt64] = []
        var integers: IntColumn.Plan
        var byteCount: Int { 8 + 10 * exceptions.count + integers.byteCount }
    }

    /// Returns the integer for `value` at this power of ten, if dividing it by the power restores the same bits.
    @inline(__always)
    static func scaled(_ value: Double, _ power: Double) -> Int64? {
        let product = value * power
        // 2^53: every whole number below it is exact. The comparison fails for NaN.
        guard abs(product) < 9_007_199_254_740_992 else { return nil }
        let integer = Int64(product + (product < 0 ? -0.5 : 0.5))
        return (Double(integer) / power).bitPattern == value.bitPattern ? integer : nil
    }

    /// Chooses the encoding for `values`, which must not be empty.
    static func plan(_ values: Span<Double>) -> Plan {
        if let exponent = likelyExponent(values), let decimal = planDecimal(values, exponent) { return decimal }
        var bits: [Int64] = []
        bits.reserveCapacity(values.count)
        for index in 0..<values.count { bits.append(Int64(bitPattern: values[index].bitPattern)) }
        return Plan(isDecimal: false, integers: IntColumn.plan(bits.span, []))
    }

    /// Samples about 16 rows spread over the column. Returns the greatest of the exponents that they need, if more than
    /// 7/8 of them have one.
    private static func likelyExponent(_ values: Span<Double>) -> Int? {
        let step = max(1, values.count / 16)
        var needed = [Int](repeating: 0, count: powers.count)
        var rows = 0
        for row in stride(from: 0, to: values.count, by: step) {
            rows += 1
            if let exponent = powers.indices.first(where: { scaled(values[row], powers[$0]) != nil }) {
                needed[exponent] += 1
            }
        }
        guard needed.reduce(0, +) * 8 > rows * 7 else { return nil }
        return needed.lastIndex { $0 > 0 }
    }

    private static func planDecimal(_ values: Span<Double>, _ exponent: Int) -> Plan? {
        let power = powers[exponent]
        var integers: [Int64] = []
        var exceptions: [Int] = []
        integers.reserveCapacity(values.count)
        for row in 0..<values.count {
            if let integer = scaled(values[row], power) {
                integers.append(integer)
            } else {
                // There are too many rows with more digits: raw bits are smaller.
                if exceptions.count * 8 > values.count { return nil }
                exceptions.append(row)
                integers.append(integers.last ?? 0)
            }
        }
        return Plan(
            isDecimal: true, exponent: exponent, exceptions: exceptions,
            exceptionBits: exceptions.map { values[$0].bitPattern }, integers: IntColumn.plan(integers.span, []))
    }

    /// Writes the planned column.
    static func write(_ plan: Plan, into writer: inout ByteWriter) {
        writer.append(plan.isDecimal ? 1 : 0 as UInt8)
        writer.append(UInt8(plan.exponent))
        writer.append(UInt16(plan.exceptions.count))
        writer.append(0 as UInt32)
        for row in plan.exceptions { writer.append(UInt16(row)) }
        for bits in plan.exceptionBits { writer.append(bits) }
        IntColumn.write(plan.integers, into: &writer)
    }
}
