import HealthKV

/// The bytes of a row's key and value. Keys are big-endian, so that LMDB's byte order is the order of time.
///
/// With UUIDs, the key of a row is start and UUID (24 bytes), and the index by UUID holds kind and start (10 bytes). A
/// derived id contains its start, so the row's key is the start and the half of the id that is derived from content (16
/// bytes), and no index is needed.
enum RowLayout {
    static let valueBytes = 18
    static let indexBytes = 10

    /// The start in a form whose unsigned order is the order of time.
    @inline(__always)
    static func ordered(_ start: Int64) -> UInt64 { (UInt64(bitPattern: start) ^ 1 << 63).bigEndian }

    @inline(__always)
    static func start(_ ordered: UInt64) -> Int64 { Int64(bitPattern: UInt64(bigEndian: ordered) ^ 1 << 63) }
}

/// A reusable buffer of fixed size for keys and values that are passed to LMDB.
///
/// SAFETY: the pointer is owned by this object from `init` to `deinit`; every offset used is within the 64 bytes.
@safe final class RowBuffer {
    let base: UnsafeMutableRawPointer

    init() { unsafe base = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 8) }
    deinit { unsafe base.deallocate() }

    @inline(__always)
    func setKey(start: Int64, id: SampleID, hasIDs: Bool) {
        unsafe base.storeBytes(of: RowLayout.ordered(start), as: UInt64.self)
        if hasIDs {
            unsafe base.storeBytes(of: id.high.bigEndian, toByteOffset: 8, as: UInt64.self)
            unsafe base.storeBytes(of: id.low.bigEndian, toByteOffset: 16, as: UInt64.self)
        } else {
            unsafe base.storeBytes(of: id.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
    }

    @inline(__always)
    func setID(_ id: SampleID) {
        unsafe base.storeBytes(of: id.high.bigEndian, as: UInt64.self)
        unsafe base.storeBytes(of: id.low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }

    func setSequence(_ number: UInt64) { unsafe base.storeBytes(of: number.bigEndian, as: UInt64.self) }

    @inline(__always)
    func setPlace(kind: UInt16, start: Int64) {
        unsafe base.storeBytes(of: start, as: Int64.self)
        unsafe base.storeBytes(of: kind, toByteOffset: 8, as: UInt16.self)
    }

    @inline(__always)
    func setValue(end: Int64, value: Double, kind: UInt16) {
        unsafe base.storeBytes(of: end, as: Int64.self)
        unsafe base.storeBytes(of: value.bitPattern, toByteOffset: 8, as: UInt64.self)
        unsafe base.storeBytes(of: kind, toByteOffset: 16, as: UInt16.self)
    }
}
