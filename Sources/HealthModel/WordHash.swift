/// A fast hash over words for identities that are derived from content. It is part of the format: never change it.
public struct WordHash: Sendable {
    private var state: UInt64

    /// A hash that has been given nothing; different seeds give unrelated hashes.
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

    /// The hash of what was mixed in.
    public var value: UInt64 {
        let product = (state ^ 0x5899_65CC_7537_4CC3).multipliedFullWidth(by: 0x1D8E_4E27_C47D_124F)
        return product.high ^ product.low
    }
}

/// SipHash-1-3 with a 128-bit key: a peer that does not know a store's key cannot choose identities that collide.
public struct KeyedHash: Sendable, Hashable {
    /// The first half of the key.
    public let key0: UInt64
    /// The second half of the key.
    public let key1: UInt64

    /// A hash with this key.
    public init(key0: UInt64, key1: UInt64) {
        self.key0 = key0
        self.key1 = key1
    }

    /// The hash of three words.
    @inline(__always)
    public func hash(_ first: UInt64, _ second: UInt64, _ third: UInt64) -> UInt64 {
        var state = State(key0, key1)
        state.absorb(first)
        state.absorb(second)
        state.absorb(third)
        return state.finish(words: 3)
    }

    struct State {
        var v0, v1, v2, v3: UInt64

        @inline(__always)
        init(_ key0: UInt64, _ key1: UInt64) {
            v0 = key0 ^ 0x736F_6D65_7073_6575
            v1 = key1 ^ 0x646F_7261_6E64_6F6D
            v2 = key0 ^ 0x6C79_6765_6E65_7261
            v3 = key1 ^ 0x7465_6462_7974_6573
        }

        @inline(__always)
        mutating func round() {
            v0 &+= v1
            v1 = (v1 << 13 | v1 >> 51) ^ v0
            v0 = v0 << 32 | v0 >> 32
            v2 &+= v3
            v3 = (v3 << 16 | v3 >> 48) ^ v2
            v0 &+= v3
            v3 = (v3 << 21 | v3 >> 43) ^ v0
            v2 &+= v1
            v1 = (v1 << 17 | v1 >> 47) ^ v2
            v2 = v2 << 32 | v2 >> 32
        }

        @inline(__always)
        mutating func absorb(_ word: UInt64) {
            v3 ^= word
            round()
            v0 ^= word
        }

        @inline(__always)
        mutating func finish(words: UInt64) -> UInt64 {
            absorb(words << 59)
            v2 ^= 0xFF
            round()
            round()
            round()
            return v0 ^ v1 ^ v2 ^ v3
        }
    }
}
