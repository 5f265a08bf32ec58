#if canImport(Foundation)
    // The small Foundation has no FileHandle.
    import Foundation
#endif

/// A copy of a stream in the system's folder for temporary files, for its owner only.
struct TemporaryFile {
    let path: String

    /// Copies a stream to its end. Leaves nothing behind if that fails.
    init(of source: inout some ByteSource) throws {
        let folder = FileManager.default.temporaryDirectory
        path = folder.appendingPathComponent("healthkv-import-\(UUID().uuidString)").path
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: path)
        else {
            throw ArchiveError(.unwritable, file: path, "cannot be created. Set TMPDIR to a folder with space.")
        }
        do {
            defer { try? handle.close() }
            var piece: [UInt8] = []
            while try source.read(into: &piece, atMost: 1 << 20) > 0 {
                try handle.write(contentsOf: piece)
                piece.removeAll(keepingCapacity: true)
            }
        } catch {
            remove()
            if error is ArchiveError { throw error }
            throw ArchiveError(
                .unwritable, file: path,
                "cannot be written (\(SystemReason(error))). Set TMPDIR to a folder with space, or name the archive.")
        }
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
