/// A value whose body is sealed: only who has the key can read or make it. Its header stays readable, so that what
/// needs no content, such as copying, walking and comparing commits, works without the key.
///
/// The header is that of the value before, with flag 0 set and the length of the sealed value. The checksums are those
/// of the sealed body. What the header says is authenticated with the body, but for the length and the checksums.
public enum SealedValue {
    /// Returns `true` if the bytes of a value say that its body is sealed.
    public static func isSealed(_ value: RawSpan) -> Bool {
        value.byteCount > StoredValue.flagsOffset
            && value.load(StoredValue.flagsOffset, as: UInt8.self) & StoredValue.isSealed != 0
    }

    /// Returns the key in the header of a value, unverified; `nil` for bytes that are no value.
    @_lifetime(copy value)
    public static func key(of value: RawSpan) -> RawSpan? {
        let place = StoredValue.keyOffset(head: value)
        guard value.byteCount > place else { return nil }
        let end = place + Int(value.load(StoredValue.keyLengthOffset, as: UInt8.self))
        return end <= value.byteCount ? value.extracting(place..<end) : nil
    }

    /// Returns the table in the header of a value, unverified; `nil` for bytes that are no value.
    public static func table(of value: RawSpan) -> TableCode? {
        value.byteCount > StoredValue.keyLengthOffset ? TableCode(rawValue: value.load(0, as: UInt8.self)) : nil
    }

    /// Verifies what can be verified without the key: the header, the key of the record and the checksums. Returns the
    /// number of rows.
    public static func verify(_ value: RawSpan, table: TableCode, key: [UInt8]) throws(FormatError) -> Int {
        let stored = try StoredValue(value, table: table, acceptsSealed: true)
        if table == .chunks {
            // The key of a chunk also has the commit of its value.
            guard try ChunkKey(key.rawBytes) == ChunkKey(stored.key), ChunkKey.commit(key.rawBytes) == stored.commit
            else { throw FormatError(.misplaced, "key") }
        } else {
            try stored.expect(key: key)
        }
        try stored.verify()
        return stored.rows
    }

    /// Returns a value with its body sealed.
    ///
    /// - Parameter seal: Returns the sealed form of the first bytes, from which the key gets them again together with
    ///   the second ones only.
    public static func seal(
        _ value: RawSpan, table: TableCode, _ seal: ([UInt8], [UInt8]) throws -> [UInt8]
    ) throws -> [UInt8] {
        let stored = try StoredValue(value, table: table)
        let fields = fields(of: stored)
        let body = value.extracting(stored.body..<stored.end).copied()
        return made(fields, try seal(body, fields), stored.blockShift, isSealed: true)
    }

    /// Returns the value before its body was sealed.
    ///
    /// - Parameter open: Returns the bytes that were sealed together with the second ones; throws if the key does not
    ///   fit, or if any of the bytes was changed.
    public static func open(
        _ value: RawSpan, table: TableCode, _ open: ([UInt8], [UInt8]) throws -> [UInt8]
    ) throws -> [UInt8] {
        let stored = try StoredValue(value, table: table, acceptsSealed: true)
        let fields = fields(of: stored)
        let body = try open(value.extracting(stored.body..<stored.end).copied(), fields)
        return made(fields, body, stored.blockShift, isSealed: false)
    }

    /// Returns the fields that are authenticated with the body.
    private static func fields(of value: borrowing StoredValue) -> [UInt8] {
        var fields = value.span.extracting(0..<value.blockSums).copied()
        fields[StoredValue.flagsOffset] |= StoredValue.isSealed
        for place in 0..<4 { fields[StoredValue.lengthOffset + place] = 0 }
        return fields
    }

    private static func made(_ fields: [UInt8], _ body: [UInt8], _ blockShift: Int, isSealed: Bool) -> [UInt8] {
        let length = StoredValue.byteCount(fields: fields.count, body: body.count, blockShift)
        var writer = ByteWriter(reserving: length)
        writer.bytes.append(contentsOf: fields)
        if !isSealed { writer.bytes[StoredValue.flagsOffset] &= ~StoredValue.isSealed }
        writer.overwrite(StoredValue.lengthOffset, UInt32(length))
        StoredValue.append(body, to: &writer, blockShift)
        return writer.bytes
    }
}
