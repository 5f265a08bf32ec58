/// The identity of a sample: 128 bits in the form of a UUID.
///
/// An id is the first UUID known for a sample. It survives edits and never changes.
///
/// ```swift
/// let id = SampleID()                               // random, version 4
/// assert(SampleID(id.description) == id)
/// ```
public struct SampleID: Hashable, Sendable, Comparable {
    /// The first eight bytes, big-endian.
    public var high: UInt64
    /// The last eight bytes, big-endian.
    public var low: UInt64

    /// Creates an id from the 128 bits of a UUID, in two words.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates a random id (UUID version 4).
    public init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    /// Creates a random id from the given generator, so that tests and replays can repeat it.
    public init(using generator: inout some RandomNumberGenerator) {
        high = generator.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        low = generator.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    }

    /// The smallest id; no sample has it as its UUID.
    public static let zero = SampleID(high: 0, low: 0)
    /// The greatest id.
    public static let max = SampleID(high: .max, low: .max)

    public static func < (left: SampleID, right: SampleID) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}

extension SampleID: LosslessStringConvertible, CustomStringConvertible {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// The usual text form, in upper case as Apple's platforms print it.
    public var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for position in 0..<16 {
            if position == 4 || position == 6 || position == 8 || position == 10 { text.append(0x2D) }
            let word = position < 8 ? high : low
            let byte = Int(truncatingIfNeeded: word >> UInt64((7 - position % 8) * 8)) & 0xFF
            text.append(SampleID.digits[byte >> 4])
            text.append(SampleID.digits[byte & 15])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads the usual text form, in upper or lower case.
    public init?(_ text: String) {
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        for (position, byte) in text.utf8.enumerated() {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == 0x2D else { return nil }
                continue
            }
            guard position < 36, let value = SampleID.value(of: byte) else { return nil }
            if digits < 16 { words.0 = words.0 << 4 | value } else { words.1 = words.1 << 4 | value }
            digits += 1
        }
        guard digits == 32 else { return nil }
        self.init(high: words.0, low: words.1)
    }

    private static func value(of digit: UInt8) -> UInt64? {
        switch digit {
        case 0x30...0x39: UInt64(digit - 0x30)
        case 0x41...0x46: UInt64(digit - 0x41 + 10)
        case 0x61...0x66: UInt64(digit - 0x61 + 10)
        default: nil
        }
    }
}

extension SampleID: Codable {
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let id = SampleID(text) else { throw ModelError.malformedIdentifier }
        self = id
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
