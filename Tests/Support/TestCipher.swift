/// Seals bytes for tests, in no time and without a library. It hides them from a search and finds every change, but it
/// keeps no secret from anybody who tries.
package struct TestCipher: Sendable {
    package struct Refused: Error {
        package init() {}
    }

    private let key: UInt64

    package init(key: UInt64) { self.key = key }

    package func seal(_ bytes: [UInt8], binding: [UInt8]) throws -> [UInt8] {
        let nonce = UInt64.random(in: 0 ... .max)
        let hidden = mixed(bytes, nonce)
        return TestCipher.bytes(of: nonce) + hidden + TestCipher.bytes(of: tag(hidden, binding, nonce))
    }

    package func open(_ sealed: [UInt8], binding: [UInt8]) throws -> [UInt8] {
        guard sealed.count >= 16 else { throw Refused() }
        let nonce = TestCipher.word(sealed[..<8])
        let hidden = Array(sealed[8..<sealed.count - 8])
        guard TestCipher.word(sealed.suffix(8)) == tag(hidden, binding, nonce) else { throw Refused() }
        return mixed(hidden, nonce)
    }

    private func mixed(_ bytes: [UInt8], _ nonce: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: key ^ nonce)
        var mixed = bytes
        var (index, word) = (0, 0 as UInt64)
        while index < mixed.count {
            if index % 8 == 0 { word = generator.next() }
            mixed[index] ^= UInt8(truncatingIfNeeded: word >> UInt64(8 * (index % 8)))
            index += 1
        }
        return mixed
    }

    private func tag(_ hidden: [UInt8], _ binding: [UInt8], _ nonce: UInt64) -> UInt64 {
        var sum = key &* 0x9E37_79B9_7F4A_7C15 ^ nonce
        func add(_ bytes: [UInt8]) {
            for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
            sum ^= UInt64(bytes.count) << 32 | sum >> 29
        }
        add(binding)
        add(hidden)
        return sum
    }

    private static func bytes(of word: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.enumerated().reduce(0) { $0 | UInt64($1.element) << UInt64(8 * $1.offset) }
    }
}
