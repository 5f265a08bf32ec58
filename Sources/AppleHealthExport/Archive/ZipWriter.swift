#if canImport(Foundation)
    // The small Foundation has no FileHandle.
    import Foundation
#endif

/// Writes a zip archive as a stream, to a file or to standard output.
///
/// The same calls give the same bytes with the same version of zlib: every entry is deflated, has the date 1980-01-01,
/// and is followed by its sizes, so that the output is never rewound. ZIP64 is used only where it is needed.
package final class ZipWriter {
    private static let outputSize = 256 << 10

    /// The path as the caller gave it, or "standard output".
    package let name: String
    private let handle: FileHandle
    private let isStandardOutput: Bool
    private let deflation: Deflation
    /// The bytes that are not written yet.
    private var output: [UInt8] = []
    /// The bytes of the archive up to here, with those in `output`.
    private var offset: UInt64 = 0
    private var entries: [ZipEntryRecord] = []
    private var current: ZipEntryRecord?
    private var checksum = Checksum()
    private var isFinished = false

    /// Creates a file that only its owner may read, or overwrites the file that is there. "-" is standard output.
    package init(to path: String) throws(ArchiveError) {
        isStandardOutput = path == "-"
        name = isStandardOutput ? "standard output" : path
        guard let deflation = Deflation() else {
            throw ArchiveError(
                .outOfMemory, file: name,
                "cannot be written, since no memory is left. Close other programs and try again.")
        }
        self.deflation = deflation
        handle = isStandardOutput ? .standardOutput : try Self.opened(path)
    }

    /// Ends the entry before, if there is one, and begins another.
    ///
    /// Pass `mayPassFourGigabytes` for contents that may be so large: only then does the entry begin with a notice that
    /// its sizes have 8 bytes, as readers of a pipe need. Readers of a file read such an entry in either case.
    package func beginEntry(name entryName: String, mayPassFourGigabytes: Bool = false) throws(ArchiveError) {
        precondition(!isFinished, "the archive is finished")
        try endEntry()
        let bytes = Array(entryName.utf8)
        guard bytes.count <= UInt16.max else {
            throw ArchiveError(
                .unsafeName, file: name, entry: entryName, "has a name of more than 65,535 bytes. Shorten the name.")
        }
        let entry = ZipEntryRecord(name: bytes, offset: offset, announcesWideSizes: mayPassFourGigabytes)
        current = entry
        checksum = Checksum()
        try add(entry.localHeader)
    }

    /// Adds bytes to the contents of the entry that began last.
    package func write(_ bytes: [UInt8]) throws(ArchiveError) {
        precondition(current != nil, "no entry has begun")
        checksum.add(bytes)
        current?.size += UInt64(bytes.count)
        // Piece by piece, so that the compressed bytes of a large array do not pile up.
        for start in stride(from: 0, to: bytes.count, by: Self.outputSize) {
            let range = start..<min(bytes.count, start + Self.outputSize)
            try addData { deflation.compress(bytes, in: range, into: &$0) }
        }
    }

    /// Ends the last entry and writes the directory. An archive without this is cut off.
    package func finish() throws(ArchiveError) {
        precondition(!isFinished, "the archive is finished")
        try endEntry()
        isFinished = true
        let directory = offset
        for entry in entries { try add(entry.directoryRecord) }
        try add(ZipEndRecord(entryCount: UInt64(entries.count), offset: directory, size: offset - directory).bytes)
        try flush()
        if !isStandardOutput { try attempt { try handle.close() } }
    }

    private func endEntry() throws(ArchiveError) {
        guard current != nil else { return }
        try addData { deflation.finish(into: &$0) }
        guard var entry = current else { return }
        entry.crc = checksum.value
        current = nil
        entries.append(entry)
        try add(entry.descriptor)
    }

    /// Adds compressed bytes of the current entry.
    private func addData(_ append: (inout [UInt8]) -> Void) throws(ArchiveError) {
        let before = output.count
        append(&output)
        let added = UInt64(output.count - before)
        current?.compressedSize += added
        offset += added
        try flushIfFull()
    }

    private func add(_ bytes: [UInt8]) throws(ArchiveError) {
        output.append(contentsOf: bytes)
        offset += UInt64(bytes.count)
        try flushIfFull()
    }

    private func flushIfFull() throws(ArchiveError) {
        if output.count >= Self.outputSize { try flush() }
    }

    private func flush() throws(ArchiveError) {
        try attempt { try handle.write(contentsOf: output) }
        output.removeAll(keepingCapacity: true)
    }

    private func attempt(_ body: () throws -> Void) throws(ArchiveError) {
        do { try body() } catch { throw Self.failure(error, name) }
    }

    private static func opened(_ path: String) throws(ArchiveError) -> FileHandle {
        let files = FileManager.default
        do {
            // What is there keeps its permissions: it may be a device.
            if !files.fileExists(atPath: path) {
                guard files.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
                    throw CocoaError(.fileWriteUnknown)
                }
            }
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            // A pipe or a device has no length to cut.
            if (try? handle.offset()) != nil { try? handle.truncate(atOffset: 0) }
            return handle
        } catch {
            throw failure(error, path)
        }
    }

    private static func failure(_ error: any Error, _ name: String) -> ArchiveError {
        switch (error as? CocoaError)?.code {
        case .fileWriteOutOfSpace:
            ArchiveError(
                .unwritable, file: name, "cannot be written: the disk is full. Make room, or choose another disk.")
        default:
            ArchiveError(
                .unwritable, file: name,
                "cannot be written (\(SystemReason(error))). Check that its folder exists and may be written to.")
        }
    }
}
