/// What the records at the end of an archive say about its directory.
struct ZipEnd {
    /// Where the directory begins in the file.
    let directoryOffset: Int
    let directorySize: Int
    /// How many entries the directory has. Only the low 16 bits, unless `isWide`.
    let entryCount: UInt64
    /// `true` if the values come from a ZIP64 record.
    let isWide: Bool
    /// The bytes in front of the archive, by which all offsets in it are too low.
    let shift: Int

    /// The bytes that are searched for the end record.
    private static let tailSizeMax = ZipFormat.endSize + ZipFormat.commentSizeMax

    /// Finds the end record. Anything in the comment may look like one, so the first from the end that leads to a
    /// directory counts. One whose comment ends with the file is preferred.
    init(of file: ArchiveFile) throws(ArchiveError) {
        let tailOffset = max(0, file.size - Self.tailSizeMax)
        let tail = try file.bytes(at: tailOffset, count: file.size - tailOffset)
        let candidates = Self.candidates(in: tail)
        var failure: ArchiveError?
        for candidate in candidates.exact + candidates.loose {
            do throws(ArchiveError) {
                let record = Record(tail, at: candidate)
                self = try Self(record, at: tailOffset + candidate, of: file)
                return
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        throw try Self.withoutEnd(file)
    }

    private init(directoryOffset: Int, directorySize: Int, entryCount: UInt64, isWide: Bool, shift: Int) {
        self.directoryOffset = directoryOffset
        self.directorySize = directorySize
        self.entryCount = entryCount
        self.isWide = isWide
        self.shift = shift
    }

    private init(_ record: Record, at offset: Int, of file: ArchiveFile) throws(ArchiveError) {
        if let wide = try Self.wide(before: offset, mustExist: record.needsWide, of: file) {
            self = wide
            return
        }
        guard record.isOnlyDisk else { throw Self.multipart(file) }
        self = try Self.located(
            size: UInt64(record.directorySize), claimedOffset: UInt64(record.directoryOffset),
            entryCount: UInt64(record.entryCount), isWide: false, before: offset, of: file)
    }

    /// The end record without its signature and comment.
    private struct Record {
        let disk: UInt16
        let directoryDisk: UInt16
        let entryCountOfDisk: UInt16
        let entryCount: UInt16
        let directorySize: UInt32
        let directoryOffset: UInt32

        init(_ bytes: [UInt8], at start: Int) {
            var position = start + MemoryLayout<UInt32>.size
            disk = bytes.number(at: &position)
            directoryDisk = bytes.number(at: &position)
            entryCountOfDisk = bytes.number(at: &position)
            entryCount = bytes.number(at: &position)
            directorySize = bytes.number(at: &position)
            directoryOffset = bytes.number(at: &position)
        }

        var isOnlyDisk: Bool { disk == 0 && directoryDisk == 0 && entryCountOfDisk == entryCount }

        /// `true` if a value does not fit, so that there must be a ZIP64 record. A count may also just be that high.
        var needsWide: Bool { directorySize == ZipFormat.wideMark32 || directoryOffset == ZipFormat.wideMark32 }
    }

    /// Returns the positions of what looks like an end record, the last first: those whose comment ends with the file,
    /// and those with other bytes behind.
    private static func candidates(in tail: [UInt8]) -> (exact: [Int], loose: [Int]) {
        var (exact, loose): ([Int], [Int]) = ([], [])
        guard tail.count >= ZipFormat.endSize else { return (exact, loose) }
        for start in (0...tail.count - ZipFormat.endSize).reversed() where tail[start] == 0x50 {
            var position = start
            guard tail.number(at: &position, as: UInt32.self) == ZipFormat.endSignature else { continue }
            position = start + ZipFormat.endSize - MemoryLayout<UInt16>.size
            let end = start + ZipFormat.endSize + Int(tail.number(at: &position, as: UInt16.self))
            if end == tail.count { exact.append(start) } else if end < tail.count { loose.append(start) }
        }
        return (exact, loose)
    }

    /// Reads the ZIP64 records that precede the end record at `offset`. Returns `nil` if there are none.
    private static func wide(before offset: Int, mustExist: Bool, of file: ArchiveFile) throws(ArchiveError) -> Self? {
        let missing = file.damaged("its ZIP64 records are missing")
        let locatorOffset = offset - ZipFormat.wideLocatorSize
        guard locatorOffset >= ZipFormat.wideEndSize else {
            if mustExist { throw missing }
            return nil
        }
        let locator = try file.bytes(at: locatorOffset, count: ZipFormat.wideLocatorSize)
        var position = 0
        guard locator.number(at: &position, as: UInt32.self) == ZipFormat.wideLocatorSignature else {
            if mustExist { throw missing }
            return nil
        }
        let disk: UInt32 = locator.number(at: &position)
        let claimed: UInt64 = locator.number(at: &position)
        let diskCount: UInt32 = locator.number(at: &position)
        guard disk == 0, diskCount <= 1 else { throw multipart(file) }

        // With bytes in front of the archive, the claimed offset is too low, and the record directly precedes its
        // locator.
        for place in [Int(exactly: claimed), locatorOffset - ZipFormat.wideEndSize] {
            guard let place, place <= locatorOffset - ZipFormat.wideEndSize else { continue }
            let record = try file.bytes(at: place, count: ZipFormat.wideEndSize)
            position = 0
            guard record.number(at: &position, as: UInt32.self) == ZipFormat.wideEndSignature else { continue }
            return try wide(record, at: place, of: file)
        }
        throw missing
    }

    private static func wide(_ record: [UInt8], at offset: Int, of file: ArchiveFile) throws(ArchiveError) -> Self {
        // Signature, size of the record and two versions.
        var position = ZipFormat.wideEndUncounted + 2 * MemoryLayout<UInt16>.size
        let disk: UInt32 = record.number(at: &position)
        let directoryDisk: UInt32 = record.number(at: &position)
        let entryCountOfDisk: UInt64 = record.number(at: &position)
        let entryCount: UInt64 = record.number(at: &position)
        let directorySize: UInt64 = record.number(at: &position)
        let directoryOffset: UInt64 = record.number(at: &position)
        guard disk == 0, directoryDisk == 0, entryCountOfDisk == entryCount else { throw multipart(file) }
        return try located(
            size: directorySize, claimedOffset: directoryOffset, entryCount: entryCount, isWide: true, before: offset,
            of: file)
    }

    /// Finds the directory in front of the end records. It normally touches them; otherwise it is where its offset
    /// says.
    private static func located(
        size claimedSize: UInt64, claimedOffset: UInt64, entryCount: UInt64, isWide: Bool, before end: Int,
        of file: ArchiveFile
    ) throws(ArchiveError) -> Self {
        guard let size = Int(exactly: claimedSize), let offset = Int(exactly: claimedOffset), size <= end else {
            throw file.damaged("its directory lies outside of it")
        }
        let touching = end - size
        let shifts = touching == offset ? [0] : [touching - offset, 0]
        for shift in shifts where shift >= 0 && offset <= end - size - shift {
            let place = offset + shift
            let isEmpty = size == 0 && entryCount == 0
            if isEmpty {
                return Self(directoryOffset: place, directorySize: 0, entryCount: 0, isWide: isWide, shift: shift)
            }
            if try startsEntry(at: place, size: size, of: file) {
                return Self(
                    directoryOffset: place, directorySize: size, entryCount: entryCount, isWide: isWide, shift: shift)
            }
        }
        if touching < offset { throw file.cutOff() }
        throw file.damaged("its directory is not where its end says")
    }

    private static func startsEntry(at offset: Int, size: Int, of file: ArchiveFile) throws(ArchiveError) -> Bool {
        guard size >= ZipFormat.entrySize else { return false }
        let bytes = try file.bytes(at: offset, count: MemoryLayout<UInt32>.size)
        var position = 0
        return bytes.number(at: &position, as: UInt32.self) == ZipFormat.entrySignature
    }

    private static func multipart(_ file: ArchiveFile) -> ArchiveError {
        ArchiveError(
            .multipart, file: file.name, "is one part of an archive of several. Join the parts into one archive first.")
    }

    private static func withoutEnd(_ file: ArchiveFile) throws(ArchiveError) -> ArchiveError {
        guard file.size > 0 else {
            return ArchiveError(.notAnArchive, file: file.name, "is empty. Copy or export it again.")
        }
        let start = try file.bytes(at: 0, count: min(file.size, ZipArchive.signatureSize))
        if ZipArchive.isZip(start) { return file.cutOff() }
        return ArchiveError(
            .notAnArchive, file: file.name,
            "is not a zip archive, or its end is missing. Check that it is the right file.")
    }
}
