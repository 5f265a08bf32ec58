/// The one canonical form of a sample as bytes, independent of how it is stored.
///
/// Digests, `kvinspect hash` and the byte comparison that decides conflicts depend on this encoding, so it is part of
/// the format. Numbers are big-endian. A text is its length in four bytes, then its UTF-8. An optional field is a byte
/// 0, or a byte 1 and the field. Metadata is sorted by the bytes of its keys. Fields added in later versions are at the
/// end, each behind a tag and only where present.
public struct CanonicalEncoder: Sendable {
    /// The bytes encoded so far.
    public private(set) var bytes: [UInt8] = []

    /// Creates an encoder without bytes.
    public init() {}

    /// Appends the content of the sample: the fields that a person or an app gave.
    public mutating func encodeContent(of sample: Sample) {
        append(sample.type.identifier)
        append(UInt64(bitPattern: sample.start.nanoseconds))
        append(UInt64(bitPattern: sample.end.nanoseconds))
        append(sample.quantity.value.bitPattern)
        append(sample.quantity.unit.symbol)
        append(sample.source.bundle)
        append(sample.source.name)
        for text in [sample.source.version, sample.source.product, sample.source.system] { append(text) }
        append(sample.isUserEntered ? 1 : 0 as UInt8)
        append(UInt64(bitPattern: Int64(sample.count)))
        append(UInt64(bitPattern: Int64(sample.multiplicity)))
        append(sample.group)
        append(sample.device == nil ? 0 : 1 as UInt8)
        for text in sample.device?.fields ?? [] { append(text) }
        encode(sample.metadata)
        if sample.rare != nil { encodeRareFields(of: sample) }
    }

    /// Appends the content with identity, version, clock and origin: all that a dump carries.
    public mutating func encode(_ sample: Sample) {
        append(sample.id.high)
        append(sample.id.low)
        append(sample.syncIdentifier)
        append(UInt64(bitPattern: sample.version))
        append(UInt64(bitPattern: sample.modified?.time.nanoseconds ?? 0))
        append(UInt64(sample.modified?.replica ?? 0))
        append(sample.origin == .authored ? 1 : 0 as UInt8)
        encodeContent(of: sample)
        encodeOverlay(of: sample)
    }

    /// Appends metadata in the order of its keys.
    public mutating func encode(_ metadata: [String: MetadataValue]) {
        append(UInt64(metadata.count))
        for key in metadata.keys.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            append(key)
            switch metadata[key]! {
            case .string(let text):
                append(1 as UInt8)
                append(text)
            case .number(let number):
                append(2 as UInt8)
                append(number.bitPattern)
            case .bool(let flag):
                append(3 as UInt8)
                append(flag ? 1 : 0 as UInt8)
            case .date(let date):
                append(4 as UInt8)
                append(UInt64(bitPattern: date.nanoseconds))
            case .quantity(let quantity):
                append(5 as UInt8)
                append(quantity.value.bitPattern)
                append(quantity.unit.symbol)
            }
        }
    }

    /// Removes the bytes and keeps the memory.
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Appends a byte.
    public mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Appends a 64-bit number, most significant byte first.
    public mutating func append(_ word: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
        }
    }

    /// Appends the length of a text and the text.
    public mutating func append(_ text: String) {
        let count = UInt32(text.utf8.count)
        for shift in stride(from: 24, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: count >> UInt32(shift)))
        }
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends a byte 0 for `nil`, or a byte 1 and the text.
    public mutating func append(_ text: String?) {
        guard let text else { return append(0 as UInt8) }
        append(1 as UInt8)
        append(text)
    }
}

extension Sample {
    /// The canonical bytes of the fields that a person or an app gave. Two samples with equal content bytes need no
    /// edit.
    public var contentBytes: [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.encodeContent(of: self)
        return encoder.bytes
    }
}
