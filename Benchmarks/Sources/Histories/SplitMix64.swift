/// A small seeded generator: the same seed gives the same numbers on every machine and in every run.
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// `stream` selects an independent sequence of a seed, so that omitting one (such as the UUIDs) does not change the
    /// others.
    public init(seed: UInt64, stream: UInt64 = 0) {
        state = seed &* 0xD129_0D3F_5A6C_8B1D ^ stream &* 0x9FB2_1C65_1E98_DF25
        _ = next()
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }

    /// A number below `bound`, by multiplication; the bias is below 2^-32 for the small bounds used here.
    public mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    /// A random integer of the range, both ends included.
    public mutating func whole(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + below(range.upperBound - range.lowerBound + 1)
    }

    /// A random number with 53 bits: `0 <= x < 1`.
    public mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// A random number of the range with all its digits.
    public mutating func real(_ range: ClosedRange<Double>) -> Double {
        range.lowerBound + unit() * (range.upperBound - range.lowerBound)
    }

    /// Returns `true` with this probability.
    public mutating func chance(_ probability: Double) -> Bool { unit() < probability }

    /// An approximately normal number with mean 0 and deviation 1: the sum of twelve uniform numbers.
    public mutating func bell() -> Double {
        var sum = -6.0
        for _ in 0..<12 { sum += unit() }
        return sum
    }
}
