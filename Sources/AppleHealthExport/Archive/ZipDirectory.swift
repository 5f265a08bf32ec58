/// Reads an archive's directory in pieces and checks how its entries lie.
struct ZipDirectory {
    /// The bounds of what is read, whatever the archive claims.
    static let entriesMax = 1_000_000
    private static let bytesMax = 256 << 20
    private static let pieceSize = 256 << 10

    private let file: ArchiveFile
    private let end: ZipEnd
    private let entriesMax: Int
    /// The bytes that were read but not parsed yet are those from `position` on.
    private var buffer: [UInt8] = []
    private var position = 0
    private var nextOffset: Int

    /// Returns all entries. Throws if there are more than `entriesMax`.
    static func entries(of file: ArchiveFile, atMost entriesMax: Int = entriesMax) throws(ArchiveError) -> [ZipEntry] {
        var directory = Self(file: file, end: try ZipEnd(of: file), entriesMax: entriesMax)
        var entries = try directory.all()
        directory.limit(&entries)
        return entries
    }

    private init(file: ArchiveFile, end: ZipEnd, entriesMax: Int) {
        self.file = file
        self.end = end
        self.entriesMax = entriesMax
        nextOffset = end.directoryOffset
    }

    private var directoryEnd: Int { end.directoryOffset + end.directorySize }

    private mutating func all() throws(ArchiveError) -> [ZipEntry] {
        guard end.directorySize <= Self.bytesMax else { throw tooLarge() }
        var entries: [ZipEntry] = []
        // Decoding replaces each wrong byte by three.
        var nameBytes = 0
        while let entry = try nextEntry() {
            nameBytes += entry.name.utf8.count
            guard entries.count < entriesMax, nameBytes <= Self.bytesMax else { throw tooLarge() }
            entries.append(entry)
        }
        // Archives of old tools have more entries than their count of 16 bits can say.
        let count = UInt64(entries.count)
        guard count == end.entryCount || !end.isWide && count & 0xFFFF == end.entryCount else {
            throw file.damaged("its directory has \(count) entries, its end says \(end.entryCount)")
        }
        return entries
    }

    /// Reads on until `count` bytes are there. Returns `false` if the directory ends before.
    private mutating func fill(_ count: Int) throws(ArchiveError) -> Bool {
        guard buffer.count - position < count else { return true }
        buffer.removeSubrange(..<position)
        position = 0
        while buffer.count < count {
            let wanted = min(Self.pieceSize, directoryEnd - nextOffset)
            guard wanted > 0 else { return false }
            let read = try file.read(at: nextOffset, into: &buffer, atMost: wanted)
            if read == 0 { throw file.cutOff() }
            nextOffset += read
        }
        return true
    }

    private mutating func nextEntry() throws(ArchiveError) -> ZipEntry? {
        guard try fill(MemoryLayout<UInt32>.size) else {
            guard buffer.isEmpty else { throw unknownRecord() }
            return nil
        }
        var start = position
        let signature: UInt32 = buffer.number(at: &start)
        if signature == ZipFormat.directorySeal { return nil }
        guard signature == ZipFormat.entrySignature, try fill(ZipFormat.entrySize) else { throw unknownRecord() }
        var lengths = position + ZipFormat.entrySize - Fields.sizeBehindLengths
        let nameSize = Int(buffer.number(at: &lengths, as: UInt16.self))
        let extraSize = Int(buffer.number(at: &lengths, as: UInt16.self))
        let commentSize = Int(buffer.number(at: &lengths, as: UInt16.self))
        let size = ZipFormat.entrySize + nameSize + extraSize + commentSize
        guard try fill(size) else { throw unknownRecord() }
        defer { position += size }

        var fields = Fields(buffer, at: position)
        let name = position + ZipFormat.entrySize..<position + ZipFormat.entrySize + nameSize
        if fields.isWide { fields.widen(by: buffer, name.upperBound..<name.upperBound + extraSize) }
        return try entry(fields, name: String(decoding: buffer[name], as: UTF8.self))
    }

    private func entry(_ fields: Fields, name: String) throws(ArchiveError) -> ZipEntry {
        guard let size = Int(exactly: fields.size), let compressedSize = Int(exactly: fields.compressedSize),
            let claimedOffset = Int(exactly: fields.offset), claimedOffset <= Int.max - end.shift
        else { throw file.damaged("its size is impossible", entry: name) }
        var entry = ZipEntry(
            name: name, compressedSize: compressedSize, size: size, crc: fields.crc, method: fields.method,
            offset: claimedOffset + end.shift, isEncrypted: fields.isEncrypted)
        if fields.disk != 0 { entry.refusal = .otherDisk }
        return entry
    }

    /// Sets where the data of each entry must end, and refuses entries that share bytes with others: a small archive
    /// with the same bytes in many entries would unpack to any size.
    private func limit(_ entries: inout [ZipEntry]) {
        var order: [Int] = []
        for index in entries.indices {
            let (offset, size) = (entries[index].offset, entries[index].compressedSize)
            let room = end.directoryOffset - ZipFormat.localSize
            if offset <= room && size <= room - offset {
                order.append(index)
            } else {
                entries[index].refusal = entries[index].refusal ?? .outside
            }
        }
        order.sort { entries[$0].offset < entries[$1].offset }

        // The farthest end of all entries before, and whose it is.
        var (reach, holder): (Int, Int?) = (0, nil)
        for (place, index) in order.enumerated() {
            let offset = entries[index].offset
            entries[index].limit = place + 1 < order.count ? entries[order[place + 1]].offset : end.directoryOffset
            if let holder, offset < reach {
                for overlapping in [holder, index] {
                    entries[overlapping].refusal = entries[overlapping].refusal ?? .overlapping
                }
            }
            let dataEnd = offset + ZipFormat.localSize + entries[index].compressedSize
            if dataEnd > reach { (reach, holder) = (dataEnd, index) }
        }
    }

    private func unknownRecord() -> ArchiveError { file.damaged("its directory has an unknown or cut record") }

    private func tooLarge() -> ArchiveError {
        ArchiveError(
            .tooLarge, file: file.name,
            "has more than \(entriesMax) entries or a directory of more than \(Self.bytesMax >> 20) MB. "
                + "Unpack it and import the folder.")
    }

    /// The numbers of one entry.
    private struct Fields {
        /// The bytes of the record from the lengths of name, extra fields and comment on: those lengths, two numbers of
        /// 16 bits and two of 32.
        static let sizeBehindLengths = 18

        let flags: UInt16
        let method: UInt16
        let crc: UInt32
        var compressedSize: UInt64
        var size: UInt64
        var disk: UInt32
        var offset: UInt64

        init(_ bytes: [UInt8], at start: Int) {
            // Signature and two versions.
            var position = start + MemoryLayout<UInt32>.size + 2 * MemoryLayout<UInt16>.size
            flags = bytes.number(at: &position)
            method = bytes.number(at: &position)
            // Time and date.
            position += MemoryLayout<UInt32>.size
            crc = bytes.number(at: &position)
            compressedSize = UInt64(bytes.number(at: &position, as: UInt32.self))
            size = UInt64(bytes.number(at: &position, as: UInt32.self))
            // The lengths of name, extra fields and comment.
            position += 3 * MemoryLayout<UInt16>.size
            disk = UInt32(bytes.number(at: &position, as: UInt16.self))
            // The attributes of 16 and of 32 bits.
            position += MemoryLayout<UInt16>.size + MemoryLayout<UInt32>.size
            offset = UInt64(bytes.number(at: &position, as: UInt32.self))
        }

        var isEncrypted: Bool {
            flags & (ZipFormat.encryptedFlag | ZipFormat.strongEncryptionFlag | ZipFormat.maskedFlag) != 0
        }

        /// `true` if a value does not fit, so that it is in an extra field.
        var isWide: Bool {
            [size, compressedSize, offset].contains(UInt64(ZipFormat.wideMark32)) || disk == ZipFormat.wideMark16
        }

        /// Replaces the values that do not fit by those of the ZIP64 extra field, which has only them, in this order.
        mutating func widen(by bytes: [UInt8], _ extra: Range<Int>) {
            let headSize = 2 * MemoryLayout<UInt16>.size
            var position = extra.lowerBound
            while extra.upperBound - position >= headSize {
                let tag: UInt16 = bytes.number(at: &position)
                let fieldEnd = position + Int(bytes.number(at: &position, as: UInt16.self)) + MemoryLayout<UInt16>.size
                guard fieldEnd <= extra.upperBound else { return }
                if tag == ZipFormat.wideExtraTag {
                    Self.widen(&size, by: bytes, at: &position, before: fieldEnd)
                    Self.widen(&compressedSize, by: bytes, at: &position, before: fieldEnd)
                    Self.widen(&offset, by: bytes, at: &position, before: fieldEnd)
                    if disk == ZipFormat.wideMark16, fieldEnd - position >= MemoryLayout<UInt32>.size {
                        disk = bytes.number(at: &position)
                    }
                    return
                }
                position = fieldEnd
            }
        }

        private static func widen(_ value: inout UInt64, by bytes: [UInt8], at position: inout Int, before end: Int) {
            guard value == ZipFormat.wideMark32, end - position >= MemoryLayout<UInt64>.size else { return }
            value = bytes.number(at: &position)
        }
    }
}
