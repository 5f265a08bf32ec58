/// The header of every value: its table, key and span, the commit that wrote it, and checksums of its blocks.
///
/// With this header, a raw scan of a damaged file can identify a value and decide whether it is the newest owner of its
/// span.
///
/// ```
///  offset  size  field
///       0     1  table
///       1     1  format version
///       2     1  flags: bit 0 sealed body, bit 1 the value names its session
///       3     1  number of columns
///       4     4  length of the whole value
///       8     8  the store's commit counter
///      16     4  rows
///      20     4  marked rows (chunks: shadowed ones)
///      24     1  length of the key
///      25     1  length of the upper bound; 0 when the value owns its key only
///      26     1  block size as a power of two
///      27     1  zero
///      28     4  session of the commit (with flag 1)
///       -     k  key
///       -     u  upper bound of the owned span, exclusive
///       -   8*c  directory: tag (1), zero (3), offset of the column in the body (4)
///       -   4*b  a checksum for each block of the body
///       -     4  checksum of everything before it
///       -     -  body: the columns in the order of the directory, then eight zero bytes
/// ```
public struct StoredValue: ~Escapable {
    public let span: RawSpan
    public let table: TableCode
    public let stamp: CommitStamp
    public let rows: Int
    public let marked: Int
    public let columns: Int
    private let keyOffset: Int
    private let keyLength: Int
    private let upperLength: Int
    let blockShift: Int
    private let directory: Int
    /// Where the fields before the checksums end, and the body begins and ends.
    let blockSums: Int
    let body: Int
    let end: Int
    private let address: UInt
    private let verified: VerifiedBlocks?

    /// The fields before the session, and with it.
    static let (fixedWithoutSession, fixed) = (28, 32)
    static let (flagsOffset, lengthOffset) = (2, 4)
    static let (isSealed, namesSession) = (1 as UInt8, 2 as UInt8)
    /// The greatest offset of the key that a value repeats.
    public static let keyOffsetLimit = fixed
    /// The offset of the key's length.
    public static let keyLengthOffset = 24
    /// The flags of all values that are written.
    static let flags = namesSession
    /// Returns `true` if a reader of values knows all of some flags.
    public static func knows(flags: UInt8) -> Bool { flags & ~(namesSession | isSealed) == 0 }
    /// Returns the commit in a header, unverified; 0 for too few bytes.
    public static func commit(head: RawSpan) -> UInt64 { head.byteCount < 16 ? 0 : head.load(8, as: UInt64.self) }

    /// Returns the commit and session in a header, unverified.
    public static func stamp(head: RawSpan) -> CommitStamp {
        let hasSession = head.byteCount >= fixed && keyOffset(head: head) == fixed
        return CommitStamp(
            commit: commit(head: head), session: hasSession ? head.load(fixedWithoutSession, as: UInt32.self) : 0)
    }

    /// Returns the offset of the key in a header. Values that were written before sessions existed name none.
    public static func keyOffset(head: RawSpan) -> Int {
        guard head.byteCount > flagsOffset, head.load(flagsOffset, as: UInt8.self) & namesSession == 0 else {
            return fixed
        }
        return fixedWithoutSession
    }

    /// The maximum number of rows in one value: bounds every count before use.
    public static let rowLimit = 65_536

    /// Reads and verifies the header. ``verify()`` verifies the body; ``verify(_:)`` verifies the blocks of a column.
    ///
    /// - Parameters:
    ///   - verified: the blocks that the transaction has verified; `nil` if the bytes at an address may change.
    ///   - acceptsSealed: whether the body may be sealed. Otherwise a whole value with a sealed body throws `.sealed`.
    @_lifetime(copy span)
    public init(
        _ span: RawSpan, table: TableCode, verified: VerifiedBlocks? = nil, acceptsSealed: Bool = false
    ) throws(FormatError) {
        let header = StoredValue.keyOffset(head: span)
        guard span.byteCount >= header + 4 else { throw FormatError(.truncated, "header") }
        let columns = Int(span.load(3, as: UInt8.self))
        let keyLength = Int(span.load(24, as: UInt8.self))
        let upperLength = Int(span.load(25, as: UInt8.self))
        let shift = Int(span.load(26, as: UInt8.self))
        let end = Int(span.load(4, as: UInt32.self))
        guard end <= span.byteCount, shift >= 8, shift <= 16 else { throw FormatError(.truncated, "value") }
        let directory = header + keyLength + upperLength
        let blockSums = directory + 8 * columns
        // The number of blocks follows from the length of the checksums and the body together.
        let rest = end - blockSums - 4
        guard rest >= 0 else { throw FormatError(.truncated, "directory") }
        let blocks = (rest + (1 << shift) + 3) / ((1 << shift) + 4)
        let body = blockSums + 4 * blocks + 4
        guard body <= end else { throw FormatError(.truncated, "body") }
        self.verified = verified
        address = verified == nil ? 0 : span.address
        if verified?.contains(address) != true {
            let sum = span.load(body - 4, as: UInt32.self)
            guard Checksum.block(span.extracting(0..<body - 4)) == sum else { throw FormatError(.checksum, "header") }
            verified?.insert(address)
        }
        let version = span.load(1, as: UInt8.self)
        guard version == FormatVersion.current else {
            throw FormatError(ofVersion: UInt32(version), current: UInt32(FormatVersion.current), "format version")
        }
        guard span.load(0, as: UInt8.self) == table.rawValue else { throw FormatError(.misplaced, "table") }
        let flags = span.load(StoredValue.flagsOffset, as: UInt8.self)
        guard StoredValue.knows(flags: flags) else { throw FormatError(.newer, "flag") }
        let rows = Int(span.load(16, as: UInt32.self))
        guard rows <= StoredValue.rowLimit else { throw FormatError(.invalid, "row count") }
        self.span = span
        self.table = table
        keyOffset = header
        (self.columns, self.keyLength, self.upperLength, blockShift) = (columns, keyLength, upperLength, shift)
        (self.directory, self.blockSums, self.body, self.end) = (directory, blockSums, body, end)
        self.rows = rows
        stamp = StoredValue.stamp(head: span)
        marked = Int(span.load(20, as: UInt32.self))
        if flags & StoredValue.isSealed != 0, !acceptsSealed {
            try verify()
            throw FormatError(.sealed, "body")
        }
    }

    public var commit: UInt64 { stamp.commit }

    /// The key in the value's header.
    public var key: RawSpan {
        @_lifetime(copy self)
        get { span.extracting(keyOffset..<keyOffset + keyLength) }
    }

    /// The exclusive upper bound of the span that the value owns; empty for records.
    public var upper: RawSpan {
        @_lifetime(copy self)
        get { span.extracting(keyOffset + keyLength..<directory) }
    }

    /// Refuses a value that belongs to another key.
    public func expect(key expected: [UInt8]) throws(FormatError) {
        guard key.isEqual(to: expected) else { throw FormatError(.misplaced, "key") }
    }

    /// Refuses a value that belongs to another key.
    public func expect(key expected: RawSpan) throws(FormatError) {
        guard key.isEqual(to: expected) else { throw FormatError(.misplaced, "key") }
    }

    /// Verifies the checksums of all blocks.
    public func verify() throws(FormatError) { try verify(body..<end) }

    /// The ranges with a checksum of their own, after the header.
    public var blocks: [Range<Int>] {
        stride(from: body, to: end, by: 1 << blockShift).map { $0..<min(end, $0 + 1 << blockShift) }
    }

    /// Returns the checksum that the header holds of a block.
    public func blockSum(_ index: Int) -> UInt32 { span.load(blockSums + 4 * index, as: UInt32.self) }

    /// Runs a check whose result stays valid as long as the bytes; with `verified`, runs it only once.
    func once(_ check: () throws(FormatError) -> Void) throws(FormatError) {
        // No block begins within the header, so this address is free as a mark.
        if verified?.contains(address + 1) == true { return }
        try check()
        verified?.insert(address + 1)
    }

    /// Verifies the blocks from `offset` to the end.
    func verifyAll(from offset: Int) throws(FormatError) { try verify(offset..<end) }

    /// Verifies the blocks that contain `range`.
    public func verify(_ range: Range<Int>) throws(FormatError) {
        if range.isEmpty { return }
        guard range.lowerBound >= body, range.upperBound <= end else { throw FormatError(.truncated, "column") }
        for block in (range.lowerBound - body) >> blockShift...(range.upperBound - 1 - body) >> blockShift {
            let from = body + block << blockShift
            if verified?.contains(address + UInt(from)) == true { continue }
            let to = min(end, from + 1 << blockShift)
            guard Checksum.block(span.extracting(from..<to)) == span.load(blockSums + 4 * block, as: UInt32.self) else {
                throw FormatError(.checksum, "body")
            }
            verified?.insert(address + UInt(from))
        }
    }

    /// Returns the range of the column with this tag in the whole value; `nil` if the value has none.
    public func column(_ tag: UInt8) throws(FormatError) -> Range<Int>? {
        for index in 0..<columns where span.load(directory + 8 * index, as: UInt8.self) == tag {
            return try columnRange(index)
        }
        return nil
    }

    /// Returns the tag at an index of the directory.
    public func tag(_ index: Int) -> UInt8 { span.load(directory + 8 * index, as: UInt8.self) }

    /// Returns the range, in the whole value, of the column at an index of the directory.
    func columnRange(_ index: Int) throws(FormatError) -> Range<Int> {
        let from = body + Int(span.load(directory + 8 * index + 4, as: UInt32.self))
        let last = end - BitPacking.slack
        let to = index + 1 < columns ? body + Int(span.load(directory + 8 * index + 12, as: UInt32.self)) : last
        guard from >= body, from <= to, to <= last else { throw FormatError(.invalid, "directory") }
        return from..<to
    }
}

extension StoredValue {
    /// Returns the length of a value with some bytes of fields and body.
    static func byteCount(fields: Int, body: Int, _ blockShift: Int) -> Int {
        fields + 4 * ((body + (1 << blockShift) - 1) >> blockShift) + 4 + body
    }

    /// Appends the checksums and the body to the fields of a value.
    static func append(_ body: [UInt8], to fields: inout ByteWriter, _ blockShift: Int) {
        for from in stride(from: 0, to: body.count, by: 1 << blockShift) {
            let hash = Checksum.hash(body, from..<min(body.count, from + 1 << blockShift))
            fields.append(UInt32(truncatingIfNeeded: hash ^ hash >> 32))
        }
        let hash = Checksum.hash(fields.bytes, 0..<fields.count)
        fields.append(UInt32(truncatingIfNeeded: hash ^ hash >> 32))
        fields.bytes.append(contentsOf: body)
    }
}

/// Builds a value with its header.
public struct StoredValueBuilder: Sendable {
    private var table: TableCode
    private var key: [UInt8]
    private var upper: [UInt8]
    private var directory: [(tag: UInt8, offset: Int)] = []
    private var body: ByteWriter
    public var rows = 0
    public var marked = 0

    public init(table: TableCode, key: [UInt8], upper: [UInt8] = [], reserving capacity: Int = 256) {
        self.table = table
        self.key = key
        self.upper = upper
        body = ByteWriter(reserving: capacity)
    }

    /// Adds a column; `write` appends its bytes.
    public mutating func column(_ tag: UInt8, _ write: (inout ByteWriter) -> Void) {
        directory.append((tag, body.count))
        write(&body)
    }

    /// Returns the size of a value without its columns.
    static func overhead(key: Int, upper: Int, columns: Int, body: Int, blockShift: Int) -> Int {
        let blocks = (body + BitPacking.slack + (1 << blockShift) - 1) >> blockShift
        return StoredValue.fixed + key + upper + 8 * columns + 4 * blocks + 4 + BitPacking.slack
    }

    /// Returns the whole value, as written by a commit.
    public consuming func finish(stamp: CommitStamp, blockShift: Int) -> [UInt8] {
        body.append(0 as UInt64)
        let length = StoredValue.byteCount(
            fields: StoredValue.fixed + key.count + upper.count + 8 * directory.count, body: body.count, blockShift)
        var writer = ByteWriter(reserving: length)
        writer.append(table.rawValue)
        writer.append(FormatVersion.current)
        writer.append(StoredValue.flags)
        writer.append(UInt8(directory.count))
        writer.append(UInt32(length))
        writer.append(stamp.commit)
        writer.append(UInt32(rows))
        writer.append(UInt32(marked))
        writer.append(UInt8(key.count))
        writer.append(UInt8(upper.count))
        writer.append(UInt8(blockShift))
        writer.append(0 as UInt8)
        writer.append(stamp.session)
        writer.bytes.append(contentsOf: key)
        writer.bytes.append(contentsOf: upper)
        for entry in directory {
            writer.append(UInt32(entry.tag))
            writer.append(UInt32(entry.offset))
        }
        StoredValue.append(body.bytes, to: &writer, blockShift)
        return writer.bytes
    }
}
