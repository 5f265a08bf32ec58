@testable import AppleHealthExport

/// An archive that is made byte by byte, with every lie that a test needs.
struct HandmadeArchive {
    struct Entry {
        var name: [UInt8]
        /// The bytes as they lie in the archive.
        var data: [UInt8]
        var method: UInt16 = ZipFormat.stored
        var flags: UInt16 = ZipFormat.utf8Flag
        var crc: UInt32
        var size: UInt64
        var compressedSize: UInt64
        /// Leaves checksum and sizes out of the local header and puts them behind the data.
        var hasDescriptor = false
        /// Puts sizes and offset into a ZIP64 field of the directory.
        var isWide = false
        /// An extra field of the local header alone.
        var localExtra: [UInt8] = []
        var comment: [UInt8] = []
        var disk: UInt16 = 0
        /// What the directory says instead of the true offset.
        var offset: UInt64?

        /// A stored entry that tells the truth.
        init(_ name: String, _ contents: [UInt8]) {
            self.init(name, contents, contents: contents)
        }

        /// A deflated entry that tells the truth.
        init(deflated name: String, _ contents: [UInt8]) {
            var data: [UInt8] = []
            if let deflation = Deflation() {
                deflation.compress(contents, in: contents.indices, into: &data)
                deflation.finish(into: &data)
            }
            self.init(name, data, contents: contents)
            method = ZipFormat.deflated
        }

        private init(_ name: String, _ data: [UInt8], contents: [UInt8]) {
            self.name = Array(name.utf8)
            self.data = data
            var checksum = Checksum()
            checksum.add(contents)
            crc = checksum.value
            size = UInt64(contents.count)
            compressedSize = UInt64(data.count)
        }
    }

    var entries: [Entry] = []
    /// Bytes in front, which the offsets do not count.
    var junk: [UInt8] = []
    var comment: [UInt8] = []
    /// Writes the ZIP64 end record and its locator, and marks in the end record.
    var hasWideEnd = false
    /// What the end record says instead of the true values.
    var entryCount: UInt64?
    var directorySize: UInt64?
    var directoryOffset: UInt64?
    var disk: UInt16 = 0

    init(_ entries: Entry...) { self.entries = entries }

    var bytes: [UInt8] {
        var bytes = junk
        var directory: [UInt8] = []
        for entry in entries {
            let offset = UInt64(bytes.count - junk.count)
            bytes += local(entry)
            directory += record(entry, offset: entry.offset ?? offset)
        }
        let offset = directoryOffset ?? UInt64(bytes.count - junk.count)
        let size = directorySize ?? UInt64(directory.count)
        bytes += directory
        let count = entryCount ?? UInt64(entries.count)
        if hasWideEnd { appendWideEnd(count: count, size: size, offset: offset, to: &bytes) }
        bytes.append(number: ZipFormat.endSignature)
        bytes.append(number: disk)
        bytes.append(number: disk)
        let narrowCount = hasWideEnd ? UInt16.max : UInt16(truncatingIfNeeded: count)
        bytes.append(number: narrowCount)
        bytes.append(number: narrowCount)
        bytes.append(number: hasWideEnd ? UInt32.max : UInt32(truncatingIfNeeded: size))
        bytes.append(number: hasWideEnd ? UInt32.max : UInt32(truncatingIfNeeded: offset))
        bytes.append(number: UInt16(comment.count))
        return bytes + comment
    }

    private func local(_ entry: Entry) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(number: ZipFormat.localSignature)
        bytes.append(number: 20 as UInt16)
        bytes.append(number: entry.hasDescriptor ? entry.flags | ZipFormat.descriptorFlag : entry.flags)
        bytes.append(number: entry.method)
        bytes.append(number: 0 as UInt32)
        bytes.append(number: entry.hasDescriptor ? 0 : entry.crc)
        bytes.append(number: entry.hasDescriptor ? 0 : UInt32(clamping: entry.compressedSize))
        bytes.append(number: entry.hasDescriptor ? 0 : UInt32(clamping: entry.size))
        bytes.append(number: UInt16(entry.name.count))
        bytes.append(number: UInt16(entry.localExtra.count))
        bytes += entry.name + entry.localExtra + entry.data
        if entry.hasDescriptor {
            bytes.append(number: ZipFormat.descriptorSignature)
            bytes.append(number: entry.crc)
            bytes.append(number: UInt32(clamping: entry.compressedSize))
            bytes.append(number: UInt32(clamping: entry.size))
        }
        return bytes
    }

    private func record(_ entry: Entry, offset: UInt64) -> [UInt8] {
        var extra: [UInt8] = []
        if entry.isWide {
            // A field of another kind in front, as archives have.
            extra += [0x55, 0x54, 1, 0, 0]
            extra.append(number: ZipFormat.wideExtraTag)
            extra.append(number: 24 as UInt16)
            for value in [entry.size, entry.compressedSize, offset] { extra.append(number: value) }
        }
        var bytes: [UInt8] = []
        bytes.append(number: ZipFormat.entrySignature)
        bytes.append(number: 20 as UInt16)
        bytes.append(number: 20 as UInt16)
        bytes.append(number: entry.hasDescriptor ? entry.flags | ZipFormat.descriptorFlag : entry.flags)
        bytes.append(number: entry.method)
        bytes.append(number: 0 as UInt32)
        bytes.append(number: entry.crc)
        bytes.append(number: entry.isWide ? UInt32.max : UInt32(truncatingIfNeeded: entry.compressedSize))
        bytes.append(number: entry.isWide ? UInt32.max : UInt32(truncatingIfNeeded: entry.size))
        bytes.append(number: UInt16(entry.name.count))
        bytes.append(number: UInt16(extra.count))
        bytes.append(number: UInt16(entry.comment.count))
        bytes.append(number: entry.disk)
        bytes.append(number: 0 as UInt16)
        bytes.append(number: 0 as UInt32)
        bytes.append(number: entry.isWide ? UInt32.max : UInt32(truncatingIfNeeded: offset))
        return bytes + entry.name + extra + entry.comment
    }

    private func appendWideEnd(count: UInt64, size: UInt64, offset: UInt64, to bytes: inout [UInt8]) {
        let recordOffset = UInt64(bytes.count - junk.count)
        bytes.append(number: ZipFormat.wideEndSignature)
        bytes.append(number: 44 as UInt64)
        bytes.append(number: 45 as UInt16)
        bytes.append(number: 45 as UInt16)
        bytes.append(number: UInt32(disk))
        bytes.append(number: UInt32(disk))
        for value in [count, count, size, offset] { bytes.append(number: value) }
        bytes.append(number: ZipFormat.wideLocatorSignature)
        bytes.append(number: 0 as UInt32)
        bytes.append(number: recordOffset)
        bytes.append(number: 1 as UInt32)
    }
}

extension ZipArchive {
    /// Opens an archive that was made by hand.
    init(_ archive: HandmadeArchive) throws(ArchiveError) { try self.init(bytes: archive.bytes, name: "made.zip") }

    /// Returns the contents of the entry at `index`.
    func contents(_ index: Int, piece: Int = 1000) throws -> [UInt8] {
        try source(of: entries[index]).all(piece: piece).get()
    }
}

extension ByteSource {
    /// Reads to the end in pieces. A failure comes with no bytes; `delivered` counts them also then.
    func all(piece: Int, delivered: inout Int) -> Result<[UInt8], any Error> {
        var source = self
        var bytes: [UInt8] = []
        while true {
            let before = bytes.count
            do {
                let read = try source.read(into: &bytes, atMost: piece)
                precondition(read == bytes.count - before && read <= piece, "the count is that of the bytes")
                delivered = bytes.count
                if read == 0 { return .success(bytes) }
            } catch {
                precondition(bytes.count == before, "a failure brings no bytes")
                return .failure(error)
            }
        }
    }

    func all(piece: Int = 1000) -> Result<[UInt8], any Error> {
        var delivered = 0
        return all(piece: piece, delivered: &delivered)
    }
}
