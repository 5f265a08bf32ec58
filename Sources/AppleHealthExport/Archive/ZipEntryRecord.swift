/// An entry that is written, and its records.
struct ZipEntryRecord {
    let name: [UInt8]
    /// Where the local header begins.
    let offset: UInt64
    /// `true` if the local header has a ZIP64 field, so that the sizes behind the data have 8 bytes.
    let announcesWideSizes: Bool
    var crc: UInt32 = 0
    var compressedSize: UInt64 = 0
    var size: UInt64 = 0

    /// Deflate needs version 2.0, ZIP64 4.5.
    static let narrowVersion: UInt16 = 20
    static let wideVersion: UInt16 = 45
    /// The high byte says that the attributes are those of Unix.
    static let madeBy: UInt16 = 3 << 8 | wideVersion
    /// A regular file that its owner may read and write.
    private static let attributes: UInt32 = 0o100600 << 16
    /// 1980-01-01, the earliest date, as year, month and day from the left, and midnight.
    private static let date: UInt16 = 0 << 9 | 1 << 5 | 1
    private static let time: UInt16 = 0

    init(name: [UInt8], offset: UInt64, announcesWideSizes: Bool) {
        self.name = name
        self.offset = offset
        self.announcesWideSizes = announcesWideSizes
    }

    /// Returns `true` if a value must stand in a ZIP64 record. The mark itself is no value.
    static func isWide(_ value: UInt64) -> Bool { value >= ZipFormat.wideMark32 }

    private var hasWideSizes: Bool { announcesWideSizes || Self.isWide(size) || Self.isWide(compressedSize) }

    /// The record in front of the data. Checksum and sizes are not known then; they follow the data.
    var localHeader: [UInt8] {
        var extra: [UInt8] = []
        if announcesWideSizes { Self.append([0, 0], asExtraTo: &extra) }
        var bytes: [UInt8] = []
        bytes.append(number: ZipFormat.localSignature)
        bytes.append(number: announcesWideSizes ? Self.wideVersion : Self.narrowVersion)
        appendCommon(to: &bytes)
        bytes.append(number: 0 as UInt32)
        let size = announcesWideSizes ? ZipFormat.wideMark32 : 0
        bytes.append(number: size)
        bytes.append(number: size)
        bytes.append(number: UInt16(name.count))
        bytes.append(number: UInt16(extra.count))
        return bytes + name + extra
    }

    /// The record behind the data.
    var descriptor: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(number: ZipFormat.descriptorSignature)
        bytes.append(number: crc)
        if hasWideSizes {
            bytes.append(number: compressedSize)
            bytes.append(number: size)
        } else {
            bytes.append(number: UInt32(compressedSize))
            bytes.append(number: UInt32(size))
        }
        return bytes
    }

    /// The record in the directory.
    var directoryRecord: [UInt8] {
        let wide = [size, compressedSize, offset].filter(Self.isWide)
        var extra: [UInt8] = []
        if !wide.isEmpty { Self.append(wide, asExtraTo: &extra) }
        var bytes: [UInt8] = []
        bytes.append(number: ZipFormat.entrySignature)
        bytes.append(number: Self.madeBy)
        bytes.append(number: hasWideSizes || !wide.isEmpty ? Self.wideVersion : Self.narrowVersion)
        appendCommon(to: &bytes)
        bytes.append(number: crc)
        bytes.append(number: UInt32(clamping: compressedSize))
        bytes.append(number: UInt32(clamping: size))
        bytes.append(number: UInt16(name.count))
        bytes.append(number: UInt16(extra.count))
        // No comment, first disk, no internal attributes.
        for _ in 0..<3 { bytes.append(number: 0 as UInt16) }
        bytes.append(number: Self.attributes)
        bytes.append(number: UInt32(clamping: offset))
        return bytes + name + extra
    }

    /// The fields that both headers have, from the flags to the date.
    private func appendCommon(to bytes: inout [UInt8]) {
        bytes.append(number: ZipFormat.descriptorFlag | ZipFormat.utf8Flag)
        bytes.append(number: ZipFormat.deflated)
        bytes.append(number: Self.time)
        bytes.append(number: Self.date)
    }

    private static func append(_ values: [UInt64], asExtraTo bytes: inout [UInt8]) {
        bytes.append(number: ZipFormat.wideExtraTag)
        bytes.append(number: UInt16(values.count * MemoryLayout<UInt64>.size))
        for value in values { bytes.append(number: value) }
    }
}
