/// SHA-256, for the digest of a store's content. Not every system that this package runs on has a platform library for
/// it.
package struct SHA256: Sendable {
    /// Eight words instead of an array: they stay in registers during a block.
    private struct State {
        var a: UInt32 = 0x6A09_E667
        var b: UInt32 = 0xBB67_AE85
        var c: UInt32 = 0x3C6E_F372
        var d: UInt32 = 0xA54F_F53A
        var e: UInt32 = 0x510E_527F
        var f: UInt32 = 0x9B05_688C
        var g: UInt32 = 0x1F83_D9AB
        var h: UInt32 = 0x5BE0_CD19
    }

    private var state = State()
    /// Input bytes that do not fill a block yet.
    private var rest: [UInt8] = []
    private var length: UInt64 = 0

    /// Creates a digest of no bytes.
    package init() { rest.reserveCapacity(64) }

    /// Adds bytes to the digest.
    package mutating func update(_ bytes: [UInt8]) { update(bytes.span) }

    /// Adds bytes to the digest.
    package mutating func update(_ bytes: Span<UInt8>) {
        length += UInt64(bytes.count)
        var from = 0
        var state = state
        defer { self.state = state }
        if !rest.isEmpty {
            while from < bytes.count, rest.count < 64 {
                rest.append(bytes[from])
                from += 1
            }
            guard rest.count == 64 else { return }
            state = SHA256.compress(state, rest.span, at: 0)
            rest.removeAll(keepingCapacity: true)
        }
        // Read whole blocks in place, without a copy.
        while from + 64 <= bytes.count {
            state = SHA256.compress(state, bytes, at: from)
            from += 64
        }
        while from < bytes.count {
            rest.append(bytes[from])
            from += 1
        }
    }

    /// Returns the digest of all input: 32 bytes.
    package consuming func finalize() -> [UInt8] {
        let bits = length &* 8
        var last = rest
        last.append(0x80)
        while last.count % 64 != 56 { last.append(0) }
        for shift in stride(from: 56, through: 0, by: -8) {
            last.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
        var state = state
        for block in stride(from: 0, to: last.count, by: 64) { state = SHA256.compress(state, last.span, at: block) }
        let words = [state.a, state.b, state.c, state.d, state.e, state.f, state.g, state.h]
        return words.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
    }

    /// Compresses one block. Only the last sixteen words of the message schedule are kept, in variables: an array would
    /// be bounds-checked and stored to at every step, which takes three times as long.
    private static func compress(_ state: State, _ bytes: Span<UInt8>, at start: Int) -> State {
        let block = bytes.extracting(start..<start + 64)
        var w0 = word(block, 0)
        var w1 = word(block, 1)
        var w2 = word(block, 2)
        var w3 = word(block, 3)
        var w4 = word(block, 4)
        var w5 = word(block, 5)
        var w6 = word(block, 6)
        var w7 = word(block, 7)
        var w8 = word(block, 8)
        var w9 = word(block, 9)
        var w10 = word(block, 10)
        var w11 = word(block, 11)
        var w12 = word(block, 12)
        var w13 = word(block, 13)
        var w14 = word(block, 14)
        var w15 = word(block, 15)
        var s = state
        for round in stride(from: 0, to: 64, by: 16) {
            if round > 0 {
                w0 = next(w0, w1, w9, w14)
                w1 = next(w1, w2, w10, w15)
                w2 = next(w2, w3, w11, w0)
                w3 = next(w3, w4, w12, w1)
                w4 = next(w4, w5, w13, w2)
                w5 = next(w5, w6, w14, w3)
                w6 = next(w6, w7, w15, w4)
                w7 = next(w7, w8, w0, w5)
                w8 = next(w8, w9, w1, w6)
                w9 = next(w9, w10, w2, w7)
                w10 = next(w10, w11, w3, w8)
                w11 = next(w11, w12, w4, w9)
                w12 = next(w12, w13, w5, w10)
                w13 = next(w13, w14, w6, w11)
                w14 = next(w14, w15, w7, w12)
                w15 = next(w15, w0, w8, w13)
            }
            step(&s, w0, constants[round])
            step(&s, w1, constants[round + 1])
            step(&s, w2, constants[round + 2])
            step(&s, w3, constants[round + 3])
            step(&s, w4, constants[round + 4])
            step(&s, w5, constants[round + 5])
            step(&s, w6, constants[round + 6])
            step(&s, w7, constants[round + 7])
            step(&s, w8, constants[round + 8])
            step(&s, w9, constants[round + 9])
            step(&s, w10, constants[round + 10])
            step(&s, w11, constants[round + 11])
            step(&s, w12, constants[round + 12])
            step(&s, w13, constants[round + 13])
            step(&s, w14, constants[round + 14])
            step(&s, w15, constants[round + 15])
        }
        s.a &+= state.a
        s.b &+= state.b
        s.c &+= state.c
        s.d &+= state.d
        s.e &+= state.e
        s.f &+= state.f
        s.g &+= state.g
        s.h &+= state.h
        return s
    }

    /// The big-endian word at a position of a block.
    @inline(__always)
    private static func word(_ block: Span<UInt8>, _ index: Int) -> UInt32 {
        let high = UInt32(block[4 * index]) << 24 | UInt32(block[4 * index + 1]) << 16
        return high | UInt32(block[4 * index + 2]) << 8 | UInt32(block[4 * index + 3])
    }

    /// The next word of the message schedule, from the words 16, 15, 7 and 2 places before it.
    @inline(__always)
    private static func next(_ w16: UInt32, _ w15: UInt32, _ w7: UInt32, _ w2: UInt32) -> UInt32 {
        let small = rotate(w15, 7) ^ rotate(w15, 18) ^ w15 >> 3
        let large = rotate(w2, 17) ^ rotate(w2, 19) ^ w2 >> 10
        return w16 &+ small &+ w7 &+ large
    }

    @inline(__always)
    private static func step(_ s: inout State, _ word: UInt32, _ constant: UInt32) {
        let sum1 = rotate(s.e, 6) ^ rotate(s.e, 11) ^ rotate(s.e, 25)
        let choice = s.e & s.f ^ ~s.e & s.g
        let first = s.h &+ sum1 &+ choice &+ constant &+ word
        let sum0 = rotate(s.a, 2) ^ rotate(s.a, 13) ^ rotate(s.a, 22)
        let majority = s.a & s.b ^ s.a & s.c ^ s.b & s.c
        s.h = s.g
        s.g = s.f
        s.f = s.e
        s.e = s.d &+ first
        s.d = s.c
        s.c = s.b
        s.b = s.a
        s.a = first &+ sum0 &+ majority
    }

    @inline(__always)
    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}
