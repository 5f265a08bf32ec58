/// One entry of a zip archive, as the archive's directory describes it.
package struct ZipEntry: Sendable {
    /// Why an entry may be listed but not read.
    enum Refusal: Sendable {
        case encrypted
        case unknownMethod
        case otherDisk
        case unsafeName
        case overlapping
        case outside
    }

    /// The name: UTF-8, with replacement characters for bytes that are none.
    package let name: String
    /// The bytes that the entry takes in the archive.
    package let compressedSize: Int
    /// The bytes of the contents, as the directory claims.
    package let size: Int
    /// The CRC-32 of the contents, as the directory claims.
    package let crc: UInt32
    /// 0 for stored, 8 for deflated.
    package let method: UInt16
    /// Where the entry's local header begins in the file.
    package let offset: Int
    package let isEncrypted: Bool

    /// Where the data must end at the latest: at the next entry or at the directory.
    var limit = 0
    var refusal: Refusal?

    init(
        name: String, compressedSize: Int, size: Int, crc: UInt32, method: UInt16, offset: Int, isEncrypted: Bool
    ) {
        self.name = name
        self.compressedSize = compressedSize
        self.size = size
        self.crc = crc
        self.method = method
        self.offset = offset
        self.isEncrypted = isEncrypted
        if isEncrypted {
            refusal = .encrypted
        } else if method != ZipFormat.stored && method != ZipFormat.deflated {
            refusal = .unknownMethod
        } else if leadsOutside {
            refusal = .unsafeName
        }
    }

    /// `true` for a folder, which has no contents.
    package var isFolder: Bool { name.utf8.last == UInt8(ascii: "/") }

    /// `true` for the attributes that macOS packs beside a file, which are no file of the user's.
    package var isAppleDouble: Bool {
        if name.hasPrefix("__MACOSX/") { return true }
        return name.split(separator: "/").last?.hasPrefix("._") ?? false
    }

    /// `true` if the name is absolute or has a part "..", with slashes of any kind.
    private var leadsOutside: Bool {
        let parts = name.utf8.split(omittingEmptySubsequences: false) {
            $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\")
        }
        if parts.count > 1 && parts[0].isEmpty { return true }
        if parts[0].count > 1 && parts[0].dropFirst().first == UInt8(ascii: ":") { return true }
        return parts.contains { $0.elementsEqual("..".utf8) }
    }

    /// The error for an entry that is refused, in an archive of this name.
    func refusalError(in file: String) -> ArchiveError? {
        switch refusal {
        case nil: nil
        case .encrypted:
            ArchiveError(.encrypted, file: file, entry: name, "is encrypted. Unpack the archive and import the file.")
        case .unknownMethod:
            ArchiveError(
                .unknownMethod, file: file, entry: name,
                "is compressed by method \(method), which is not supported. Unpack the archive and import the file.")
        case .otherDisk:
            ArchiveError(
                .multipart, file: file, entry: name,
                "lies in another part of the archive. Join the parts into one archive first.")
        case .unsafeName:
            ArchiveError(
                .unsafeName, file: file, entry: name,
                "has a name that leads out of the archive's folder. Get the archive from a source that you trust.")
        case .overlapping:
            ArchiveError(
                .overlapping, file: file, entry: name,
                "shares its bytes with another entry. Get the archive from a source that you trust.")
        case .outside:
            ArchiveError(
                .damaged, file: file, entry: name,
                "does not lie before the archive's directory. Copy or export the archive again.")
        }
    }
}
