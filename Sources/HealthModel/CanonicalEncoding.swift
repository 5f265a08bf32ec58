/// The one canonical form of a sample as bytes, independent of how it is stored.
///
/// Digests, the order of bytes in conflicts and `kvinspect hash` rest on it: it is part of the format. Numbers are
/// big-endian; a text is its length in four bytes and its UTF-8; an optional field is a byte 0, or 1 and the field;
/// metadata is in the order of its keys' bytes. Fields that came later stand at the end behind a tag, only where they are.
public struct CanonicalEncoder: Sendable {
    /// What was encoded so far.
    public private(set) var bytes: [UInt8] = []

    /// An encoder without bytes.
    public init() {}

    /// Everything that makes the sample's content: what a person or an app gave.
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

    /// The content with identity, version, clock and origin: all that a dump carries.
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

    /// Metadata in the order of its keys.
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

    /// Begins anew and keeps the memory.
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Appends a byte.
    public mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Appends a number of 64 bits, the most significant byte first.
    public mutating func append(_ word: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
        }
    }

    /// Appends a text behind its length.
    public mutating func append(_ text: String) {
        let count = UInt32(text.utf8.count)
        for shift in stride(from: 24, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: count >> UInt32(shift)))
        }
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends a byte 0 for `nil`, else 1 and the text.
    public mutating func append(_ text: String?) {
        guard let text else { return append(0 as UInt8) }
        append(1 as UInt8)
        append(text)
    }
}

extension Sample {
    /// The bytes of what a person or an app gave: two samples of equal content need no edit.
    public var contentBytes: [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.encodeContent(of: self)
        return encoder.bytes
    }
}
