/// A zip archive that is read: its entries, and the contents of each as a stream. Nothing is unpacked to disk.
package struct ZipArchive {
    /// The bytes at the start of a file by which a zip archive is known.
    package static let signatureSize = 4

    /// All entries, also folders and entries that are refused when they are read, in the order of the directory.
    package let entries: [ZipEntry]
    private let file: ArchiveFile

    /// Opens an archive and reads its directory. "-" is standard input, which must then be a file, not a pipe.
    ///
    /// - Parameter title: What errors call the archive, instead of its path.
    package init(path: String, title: String? = nil) throws(ArchiveError) {
        try self.init(ArchiveFile(path: path, title: title))
    }

    /// Opens an archive in memory. Errors call it by this name.
    package init(bytes: [UInt8], name: String) throws(ArchiveError) {
        try self.init(ArchiveFile(bytes: bytes, name: name))
    }

    private init(_ file: ArchiveFile) throws(ArchiveError) {
        self.file = file
        entries = try ZipDirectory.entries(of: file)
    }

    /// Opens an entry of this archive for reading. Sources of one archive may be read by turns.
    ///
    /// Throws for an entry that is encrypted, compressed by an unknown method, in another part of the archive, shares
    /// bytes with another, or has a name that is absolute or contains "..".
    package func source(of entry: ZipEntry) throws(ArchiveError) -> ZipEntrySource {
        try ZipEntrySource(entry, of: file)
    }

    /// Returns `true` if a regular file begins like a zip archive. Returns `false` for a pipe, and takes nothing from
    /// it.
    package static func isZip(path: String) throws(ArchiveError) -> Bool {
        if InputHandle.isNamedPipe(path) { return false }
        let handle = try InputHandle(path: path)
        guard handle.size != nil, let start = handle.position() else { return false }
        var bytes: [UInt8] = []
        _ = try handle.read(into: &bytes, atMost: signatureSize)
        // Standard input is opened once for all who read it.
        try handle.seek(to: start)
        return isZip(bytes)
    }

    /// Returns `true` if bytes begin like a zip archive: with an entry, or with the end of an empty archive.
    package static func isZip(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= signatureSize else { return false }
        var position = 0
        let signature: UInt32 = bytes.number(at: &position)
        return signature == ZipFormat.localSignature || signature == ZipFormat.endSignature
    }
}
