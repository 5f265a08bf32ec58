import HealthKV

/// The bytes of keys and values. Keys are big-endian, so that the order of bytes is the order of time.
enum RocksLayout {
    static let valueBytes = 18

    static func bytes(_ word: UInt64) -> [UInt8] {
        // SAFETY: the word is valid while its bytes are copied.
        unsafe withUnsafeBytes(of: word) { unsafe Array($0) }
    }

    static func id(_ id: SampleID) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 16) { target, count in
            // SAFETY: there is room for the 16 bytes that are written.
            let base = UnsafeMutableRawPointer(target.baseAddress!)
            unsafe base.storeBytes(of: id.high.bigEndian, as: UInt64.self)
            unsafe base.storeBytes(of: id.low.bigEndian, toByteOffset: 8, as: UInt64.self)
            count = 16
        }
    }

    /// Type, start and id: 26 bytes.
    static func key(_ type: UInt16, _ start: Int64, _ id: SampleID) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 26) { target, count in
            // SAFETY: there is room for the 26 bytes that are written.
            let base = UnsafeMutableRawPointer(target.baseAddress!)
            unsafe base.storeBytes(of: type.bigEndian, as: UInt16.self)
            unsafe base.storeBytes(of: RowLayout.ordered(start), toByteOffset: 2, as: UInt64.self)
            unsafe base.storeBytes(of: id.high.bigEndian, toByteOffset: 10, as: UInt64.self)
            unsafe base.storeBytes(of: id.low.bigEndian, toByteOffset: 18, as: UInt64.self)
            count = 26
        }
    }

    /// The key of a row, from its entry in the index by UUID.
    static func key(_ place: [UInt8], _ id: SampleID, _ book: KindBook) -> [UInt8] {
        // SAFETY: a place has ten bytes.
        unsafe place.withUnsafeBytes { bytes in
            let kind = unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self)
            return unsafe key(book.typeNumber(ofKind: kind), bytes.loadUnaligned(as: Int64.self), id)
        }
    }

    static func place(_ kind: UInt16, _ start: Int64) -> [UInt8] {
        bytes(UInt64(bitPattern: start)) + [UInt8(truncatingIfNeeded: kind), UInt8(truncatingIfNeeded: kind >> 8)]
    }

    static func value(end: Int64, _ value: Double, _ kind: UInt16, _ extras: [UInt8]) -> [UInt8] {
        let fixed = unsafe [UInt8](unsafeUninitializedCapacity: valueBytes + extras.count) { target, count in
            // SAFETY: there is room for the 18 bytes that are written.
            let base = UnsafeMutableRawPointer(target.baseAddress!)
            unsafe base.storeBytes(of: end, as: Int64.self)
            unsafe base.storeBytes(of: value.bitPattern, toByteOffset: 8, as: UInt64.self)
            unsafe base.storeBytes(of: kind, toByteOffset: 16, as: UInt16.self)
            count = valueBytes
        }
        return extras.isEmpty ? fixed : fixed + extras
    }

    static func fields(_ key: [UInt8], _ value: [UInt8]) -> RowFields {
        // SAFETY: both arrays are valid while they are read.
        unsafe key.withUnsafeBytes { key in unsafe value.withUnsafeBytes { unsafe fields($0, key: key) } }
    }

    /// The fields of a row, read in place.
    ///
    /// SAFETY: each key has 26 bytes, each value at least 18.
    static func fields(_ value: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> RowFields {
        let id = unsafe SampleID(
            high: UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 10, as: UInt64.self)),
            low: UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 18, as: UInt64.self)))
        var row = unsafe RowFields(
            id: id, start: RowLayout.start(key.loadUnaligned(fromByteOffset: 2, as: UInt64.self)),
            end: value.loadUnaligned(as: Int64.self),
            value: Double(bitPattern: value.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
            kind: value.loadUnaligned(fromByteOffset: 16, as: UInt16.self))
        if value.count > valueBytes { row.extras = unsafe Array(value[valueBytes...]) }
        return row
    }
}
