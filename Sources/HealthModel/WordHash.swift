/// A fast hash over words, for identities that are derived from content. It is part of the format: never change it.
public struct WordHash: Sendable {
    private var state: UInt64

    /// Creates a hash of no input; different seeds give unrelated hashes.
    public init(seed: UInt64 = 0) { state = seed ^ 0x9E37_79B9_7F4A_7C15 }

    /// Mixes a word in.
    @inline(__always)
    public mutating func mix(_ word: UInt64) {
        let product = (state ^ word ^ 0xA076_1D64_78BD_642F).multipliedFullWidth(by: 0xE703_7ED1_A0B4_28DB)
        state = (product.high ^ product.low) &+ 0x8EBC_6AF0_9C88_C6E3
    }

    /// Mixes the bytes of a text and its length.
    public mutating func mix(_ text: String) {
        var word: UInt64 = 0
        var filled = 0
        for byte in text.utf8 {
            word = word << 8 | UInt64(byte)
            filled += 1
            if filled == 8 {
                mix(word)
                (word, filled) = (0, 0)
            }
        }
        mix(word)
        mix(UInt64(text.utf8.count))
    }

    /// The hash of all words mixed in.
    public var value: UInt64 {
        let product = (state ^ 0x5899_65CC_7537_4CC3).multipliedFullWidth(by: 0x1D8E_4E27_C47D_124F)
        return product.high ^ product.low
    }
}
