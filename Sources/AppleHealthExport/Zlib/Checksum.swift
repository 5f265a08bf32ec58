import CZlib

/// The CRC-32 of bytes that come in pieces.
struct Checksum {
    private(set) var value: UInt32 = 0

    /// Adds the bytes from `start` on.
    mutating func add(_ bytes: [UInt8], from start: Int = 0) {
        let before = uLong(value)
        let after = unsafe bytes.withUnsafeBufferPointer { source in
            let rest = unsafe UnsafeBufferPointer(rebasing: source[start...])
            // Without an address, zlib would return the checksum of no bytes.
            return unsafe rest.isEmpty ? before : crc32_z(before, rest.baseAddress, rest.count)
        }
        value = UInt32(truncatingIfNeeded: after)
    }
}
