/// Identity from content, for samples without a UUID.
///
/// The id is a UUID of version 8: 16 bits of the type's hash, the 64 bits of the start, and 42 bits of the hash of the
/// canonical content with its multiplicity. A derived id therefore locates its sample, and needs no index entry.
public enum DerivedID {
    /// Hashes of the fields that many samples share, computed once for a column of samples.
    public struct Prefix: Hashable, Sendable {
        /// The hash of the type's identifier.
        public let type: UInt64
        /// The hash of the source's bundle, or of its name if it has none: an app that gets a new name stays the same.
        public let source: UInt64

        /// Computes the hashes for samples of a type and source.
        public init(type: SampleType, source: SourceIdentity) {
            var hash = WordHash(seed: 1)
            hash.mix(type.identifier)
            self.type = hash.value
            hash = WordHash(seed: 2)
            hash.mix(source.bundle)
            hash.mix(source.bundle.isEmpty ? source.name : "")
            self.source = hash.value
        }
    }

    /// Returns the id of a sample with this content. `value` is in the type's canonical unit if the type has one.
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
        // 48 bits: 16 of the type and the upper half of the start; then 4 of the version; then 12 bits of the start.
        let high = typeBits << 48 | (time >> 32) << 16 | 0x8000 | (time >> 20) & 0xFFF
        // The variant takes two bits. Then follow the last 20 bits of the start and 42 bits of the content.
        let low = 0x8000_0000_0000_0000 | (time & 0xFFFFF) << 42 | content & 0x3FF_FFFF_FFFF
        return SampleID(high: high, low: low)
    }

    /// Returns the multiplicity of a sample that its app tells from equal ones by a text. It follows from the text
    /// alone, so that it is the same in whatever order a file holds the samples. Multiplicities that count are less.
    package static func multiplicity(named text: String, isSyncIdentifier: Bool) -> Int {
        var hash = WordHash(seed: isSyncIdentifier ? 3 : 4)
        hash.mix(text)
        return 1 << 30 | Int(hash.value >> 34)
    }

    /// Returns an id that no derived id of the type with this start or a later one precedes.
    package static func first(_ prefix: Prefix, start: Int64) -> SampleID {
        let any = id(prefix, start: start, end: start, value: 0, multiplicity: 0)
        return SampleID(high: any.high, low: any.low & ~0x3FF_FFFF_FFFF)
    }

    /// Returns `true` if an id has the form of a derived id.
    public static func isDerived(_ id: SampleID) -> Bool {
        id.high & 0xF000 == 0x8000 && id.low >> 62 == 2
    }

    /// Returns the start that a derived id contains.
    public static func start(of id: SampleID) -> Instant {
        let time = (id.high >> 16 & 0xFFFF_FFFF) << 32 | (id.high & 0xFFF) << 20 | id.low >> 42 & 0xFFFFF
        return Instant(nanoseconds: Int64(bitPattern: time ^ (1 << 63)))
    }

    /// Returns the 16 bits of the type's hash that a derived id contains.
    public static func typeBits(of id: SampleID) -> UInt64 { id.high >> 48 }
}
