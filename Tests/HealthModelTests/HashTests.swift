import Testing

@testable import HealthModel

/// Compares hashes with published vectors and with the results of another program.
@Suite struct HashTests {
    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
    }

    private func sha256(_ bytes: some Sequence<UInt8>) -> String {
        var hash = SHA256()
        hash.update(Array(bytes))
        return hex(hash.finalize())
    }

    @Test("SHA-256 gives the digests of FIPS 180-4")
    func vectors() {
        let table = [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
                "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
            ),
        ]
        for (text, digest) in table { #expect(sha256(text.utf8) == digest) }
        let million = sha256(repeatElement(UInt8(ascii: "a"), count: 1_000_000))
        #expect(million == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test(
        "SHA-256 does not depend on how the bytes are split",
        arguments: [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 300])
    func pieces(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var one = SHA256()
        for byte in bytes { one.update([byte]) }
        let alone = one.finalize()
        #expect(hex(alone) == sha256(bytes))
        for cut in stride(from: 0, to: count, by: 7) {
            var two = SHA256()
            two.update(Array(bytes[..<cut]))
            two.update(Array(bytes[cut...]))
            #expect(two.finalize() == alone)
        }
    }

    @Test("The hash of words and texts has not changed: it is part of the format")
    func wordHash() {
        func hash(_ body: (inout WordHash) -> Void) -> UInt64 {
            var hash = WordHash()
            body(&hash)
            return hash.value
        }
        #expect(hash { _ in } == 0x3760_B58D_4E43_4009)
        #expect(hash { $0.mix(1 as UInt64) } == 0xDA48_17B7_BE73_AFEF)
        #expect(hash { $0.mix("") } == 0xDC13_9B03_19AB_2DD8)
        #expect(hash { $0.mix("abcdefgh") } == 0x606F_541A_D35F_6B99)
        #expect(hash { $0.mix("abcdefghi") } == 0x0825_FE0B_DAB8_1ECF)
    }
}
