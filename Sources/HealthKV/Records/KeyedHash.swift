/// SipHash-1-3 with a 128-bit key: a peer that does not know a store's key cannot choose identities that collide.
struct KeyedHash: Sendable, Hashable {
    /// The first half of the key.
    let key0: UInt64
    /// The second half of the key.
    let key1: UInt64

    /// Creates a hash function with this key.
    init(key0: UInt64, key1: UInt64) {
        self.key0 = key0
        self.key1 = key1
    }

    /// Returns the hash of three words.
    @inline(__always)
    func hash(_ first: UInt64, _ second: UInt64, _ third: UInt64) -> UInt64 {
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
