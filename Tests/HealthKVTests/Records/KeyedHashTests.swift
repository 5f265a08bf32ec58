import Testing

@testable import HealthKV

/// The hash behind the identity index, against another program.
@Suite struct KeyedHashTests {
    @Test("The keyed hash is SipHash-1-3 over the 24 bytes of three words")
    func sipHash() {
        // From an implementation that gives the published vector of SipHash-2-4.
        let table: [(UInt64, UInt64, (UInt64, UInt64, UInt64), UInt64)] = [
            (
                0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908,
                (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908, 0x1716_1514_1312_1110), 0xF464_AEB2_6734_9C8C
            ),
            (0, 0, (0, 0, 0), 0xF900_3207_CF9E_4D4C), (.max, .max, (.max, .max, .max), 0xD857_E025_1ACF_E52F),
            (1, 2, (3, 4, 5), 0x5204_BE2E_87E9_A97E),
        ]
        for (key0, key1, words, expected) in table {
            #expect(KeyedHash(key0: key0, key1: key1).hash(words.0, words.1, words.2) == expected)
        }
    }
}
