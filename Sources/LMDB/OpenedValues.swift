/// Seals the values of an environment when they are stored, and opens them when they are read. Keys stay as they are.
public protocol ValueCipher: Sendable {
    /// Returns what is stored for a value; `nil` if the value is stored as it is.
    func seal(_ value: RawSpan) throws(LMDBError) -> [UInt8]?

    /// Returns the value of which the stored bytes are the sealed form; `nil` if they are handed over as they are,
    /// because they are not sealed or cannot be opened.
    func open(_ stored: RawSpan) -> [UInt8]?
}

/// The values that a transaction has opened. Each is opened once, and stays where it is.
@safe
public final class OpenedValues {
    // unsafe: every buffer is alive until `forget()` or deinit, and no span of a view lives then.
    private let cipher: any ValueCipher
    /// The opened values by the addresses of the stored ones; `nil` for what is handed over as it is.
    private var known: [UInt: UnsafeRawBufferPointer?] = unsafe [:]
    /// The bytes of all opened values.
    public private(set) var byteCount = 0

    init(_ cipher: any ValueCipher) { self.cipher = cipher }

    /// Returns the opened form of stored bytes; the same bytes if there is none.
    @usableFromInline
    func open(_ stored: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let address = UInt(bitPattern: stored.baseAddress)
        if let found = unsafe known[address] { return unsafe found ?? stored }
        let span = unsafe RawSpan(_unsafeBytes: stored)
        var opened: UnsafeRawBufferPointer?
        if let bytes = cipher.open(span) { unsafe opened = keep(bytes) }
        unsafe known.updateValue(opened, forKey: address)
        return unsafe opened ?? stored
    }

    private func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        unsafe buffer.copyBytes(from: bytes)
        byteCount += bytes.count
        return UnsafeRawBufferPointer(buffer)
    }

    /// Frees all opened values. Call it only while no span of them lives.
    @usableFromInline
    func forget() {
        let buffers = unsafe Array(known.values)
        for index in unsafe buffers.indices { unsafe buffers[index]?.deallocate() }
        unsafe known = [:]
        byteCount = 0
    }

    deinit { forget() }
}
