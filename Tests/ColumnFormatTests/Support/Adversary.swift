import TestSupport

@testable import ColumnFormat

/// Data that encoders are likely to get wrong.
enum Adversary {
    static let counts = [1, 2, 3, 7, 8, 9, 63, 64, 65, 500, 2_048]

    /// Integers of every shape: constant, of each width, with a few outliers, ascending, scaled, at both ends of the
    /// range.
    static func integers(_ random: inout SeededGenerator) -> [Int64] {
        let count = random.pick(counts)
        let base = random.pick([0, 1, -1, .min, .max, Int64(bitPattern: random.next())])
        let width = random.number(0..<65)
        let mask: UInt64 = width == 0 ? 0 : .max >> UInt64(64 - width)
        switch random.number(0..<8) {
        case 0: return [Int64](repeating: base, count: count)
        case 1: return (0..<count).map { _ in base &+ Int64(bitPattern: random.next() & mask) }
        case 2:  // a few words far wider than the rest
            return (0..<count).map { _ in
                base &+ Int64(bitPattern: random.chance(0.03) ? random.next() : random.next() & mask)
            }
        case 3: return (0..<count).map { _ in random.pick([.min, .max, 0, -1, 1]) }
        case 4:  // times with a common scale and some jumps
            let scale = random.pick(IntColumn.scales)
            var time = base &+ Int64(random.number(0..<1_000))
            return (0..<count).map { _ in
                time = time &+ scale &* Int64(random.pick([0, 1, 1, 1, 5, random.chance(0.02) ? 100_000 : 2]))
                return time
            }
        case 5: return (0..<count).map { base &+ Int64($0) &* Int64(bitPattern: random.seed) }
        case 6:  // ascending by differences of one width
            var value = base
            return (0..<count).map { _ in
                value = value &+ Int64(bitPattern: random.next() & mask)
                return value
            }
        default: return (0..<count).map { _ in Int64(bitPattern: random.next()) }
        }
    }

    static let doubles: [Double] = [
        0, -0.0, .infinity, -.infinity, .nan, -.nan, Double(nan: 1, signaling: false),
        Double(nan: 12_345, signaling: true),
        .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude,
        -.greatestFiniteMagnitude, 0.1, 0.1 + 0.2, 1.0 / 3, 72.4, 9_007_199_254_740_991, 9_007_199_254_740_992,
        -9_007_199_254_740_992, 1e22, 1e-9, 5e-10, 4.35, 1.005, 2.675, 0.5, 1e300,
    ]

    /// Doubles as weighing scales and counters report them, and unreasonable ones.
    static func values(_ random: inout SeededGenerator) -> [Double] {
        let count = random.pick(counts)
        let power = random.pick([1.0, 10, 100, 1_000, 1e6, 1e9])
        let odd = random.pick([0, 0.02, 0.1, 0.3, 1])
        let kind = random.number(0..<4)
        return (0..<count).map { index in
            if random.chance(odd) { return random.pick(doubles) }
            switch kind {
            case 0: return Double(random.number(-50_000..<50_000)) / power
            case 1: return Double(bitPattern: random.next())
            case 2: return 72.4 + Double(index) / power
            default: return Double(Int64(bitPattern: random.next()) >> Int64(random.number(0..<64)))
            }
        }
    }
}

/// A column written alone, with the slack that follows the last column of a value.
func written(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
    var writer = ByteWriter()
    write(&writer)
    return writer.bytes + [UInt8](repeating: 0, count: BitPacking.slack)
}

/// The error that `body` throws, if any.
func failure(_ body: () throws -> Void) -> FormatError? {
    do {
        try body()
        return nil
    } catch {
        return error as? FormatError
    }
}
