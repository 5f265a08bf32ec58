/// Identity from content, for samples that come without a UUID.
///
/// The id is a UUID of version 8: 16 bits of hash of the type, the 64 bits of the start, and 42 bits of hash of the canonical
/// content with its multiplicity. So a derived id tells where its sample lies, and no index has to.
public enum DerivedID {
    /// Hashes of what many samples share, so that a column of them costs little.
    public struct Prefix: Hashable, Sendable {
        /// The hash of the type's identifier.
        public let type: UInt64
        /// The hash of the source's bundle and name.
        public let source: UInt64

        /// The hashes for samples of a type and source.
        public init(type: SampleType, source: SourceIdentity) {
            var hash = WordHash(seed: 1)
            hash.mix(type.identifier)
            self.type = hash.value
            hash = WordHash(seed: 2)
            hash.mix(source.bundle)
            hash.mix(source.name)
            self.source = hash.value
        }
    }

    /// The id of a sample with this content; `value` is in the type's canonical unit where it has one.
    @inline(__always)
    public static func id(
        _ prefix: Prefix, start: Int64, end: Int64, value: Double, multiplicity: Int
    ) -> SampleID {
        var hash = WordHash(seed: prefix.type)
        hash.mix(prefix.source)
        hash.mix(UInt64(bitPattern: start))
        hash.mix(UInt64(bitPattern: end))
        hash.mix(value.bitPattern)
        hash.mix(UInt64(bitPattern: Int64(multiplicity)))
        let content = hash.value
        let time = UInt64(bitPattern: start) ^ (1 << 63)
        let typeBits = prefix.type & 0xFFFF
        // 48 bits: type and the upper half of the start; then the version; then 12 bits of the start.
        let high = typeBits << 48 | (time >> 32) << 16 | 0x8000 | (time >> 20) & 0xFFF
        // The variant takes two bits; 20 bits of the start are left, then 42 of the content.
        let low = 0x8000_0000_0000_0000 | (time & 0xFFFFF) << 42 | content & 0x3FF_FFFF_FFFF
        return SampleID(high: high, low: low)
    }

    /// Whether an id has the form of a derived one.
    public static func isDerived(_ id: SampleID) -> Bool {
        id.high & 0xF000 == 0x8000 && id.low >> 62 == 2
    }

    /// The start that a derived id names.
    public static func start(of id: SampleID) -> Instant {
        let time = (id.high >> 16 & 0xFFFF_FFFF) << 32 | (id.high & 0xFFF) << 20 | id.low >> 42 & 0xFFFFF
        return Instant(nanoseconds: Int64(bitPattern: time ^ (1 << 63)))
    }

    /// The 16 bits of hash of the type that a derived id names.
    public static func typeBits(of id: SampleID) -> UInt64 { id.high >> 48 }
}
