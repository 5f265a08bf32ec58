/// The records at the end of an archive that is written.
struct ZipEndRecord {
    let entryCount: UInt64
    /// Where the directory begins, and its bytes.
    let offset: UInt64
    let size: UInt64

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        let isWide =
            entryCount >= ZipFormat.wideMark16 || ZipEntryRecord.isWide(offset) || ZipEntryRecord.isWide(size)
        if isWide { appendWide(to: &bytes) }
        bytes.append(number: ZipFormat.endSignature)
        // Only one disk.
        bytes.append(number: 0 as UInt32)
        bytes.append(number: UInt16(clamping: entryCount))
        bytes.append(number: UInt16(clamping: entryCount))
        bytes.append(number: UInt32(clamping: size))
        bytes.append(number: UInt32(clamping: offset))
        // No comment.
        bytes.append(number: 0 as UInt16)
        return bytes
    }

    private func appendWide(to bytes: inout [UInt8]) {
        bytes.append(number: ZipFormat.wideEndSignature)
        bytes.append(number: UInt64(ZipFormat.wideEndSize - ZipFormat.wideEndUncounted))
        bytes.append(number: ZipEntryRecord.madeBy)
        bytes.append(number: ZipEntryRecord.wideVersion)
        bytes.append(number: 0 as UInt32)
        bytes.append(number: 0 as UInt32)
        bytes.append(number: entryCount)
        bytes.append(number: entryCount)
        bytes.append(number: size)
        bytes.append(number: offset)

        bytes.append(number: ZipFormat.wideLocatorSignature)
        bytes.append(number: 0 as UInt32)
        bytes.append(number: offset + size)
        bytes.append(number: 1 as UInt32)
    }
}
