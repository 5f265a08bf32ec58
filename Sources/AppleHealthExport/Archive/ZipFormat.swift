/// Numbers of the zip format, as APPNOTE.TXT of PKWARE defines them.
enum ZipFormat {
    static let localSignature: UInt32 = 0x0403_4b50
    static let descriptorSignature: UInt32 = 0x0807_4b50
    static let entrySignature: UInt32 = 0x0201_4b50
    static let directorySeal: UInt32 = 0x0505_4b50
    static let wideEndSignature: UInt32 = 0x0606_4b50
    static let wideLocatorSignature: UInt32 = 0x0706_4b50
    static let endSignature: UInt32 = 0x0605_4b50

    /// The bytes of each record before its names and extra fields.
    static let localSize = 30
    static let entrySize = 46
    static let wideEndSize = 56
    static let wideLocatorSize = 20
    static let endSize = 22

    /// The bytes of the wide end record that its own size does not count: signature and size.
    static let wideEndUncounted = 12
    static let commentSizeMax = 0xFFFF

    /// A field of 32 or 16 bits with all bits set stands for a value in a ZIP64 record.
    static let wideMark32: UInt32 = .max
    static let wideMark16: UInt16 = .max
    static let wideExtraTag: UInt16 = 0x0001

    static let encryptedFlag: UInt16 = 1 << 0
    static let descriptorFlag: UInt16 = 1 << 3
    static let strongEncryptionFlag: UInt16 = 1 << 6
    static let utf8Flag: UInt16 = 1 << 11
    static let maskedFlag: UInt16 = 1 << 13

    static let stored: UInt16 = 0
    static let deflated: UInt16 = 8
}

extension [UInt8] {
    /// Returns the little-endian number at `position` and moves `position` behind it. The bytes must be there.
    func number<Number: FixedWidthInteger & UnsignedInteger>(
        at position: inout Int, as type: Number.Type = Number.self
    ) -> Number {
        // Of one type for all lengths: several times as fast where the compiler does not optimize.
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while shift < Number.bitWidth {
            number |= UInt64(self[position]) &<< shift
            position += 1
            shift += 8
        }
        return Number(truncatingIfNeeded: number)
    }

    /// Appends a number in little-endian order.
    mutating func append(number: some FixedWidthInteger & UnsignedInteger) {
        var rest = UInt64(truncatingIfNeeded: number)
        for _ in 0..<number.bitWidth / 8 {
            append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }
}
