#if canImport(Foundation)
    // The small Foundation has no FileHandle.
    import Foundation
#endif

/// Takes the bytes of an export in their order.
protocol ByteSink {
    mutating func write(_ bytes: [UInt8]) throws
    /// Writes another file beside the one that was written.
    mutating func write(file name: String, _ bytes: [UInt8]) throws
    /// Whether there is a place for other files.
    var takesFiles: Bool { get }
    /// Ends the file.
    mutating func finish() throws
}

/// Writes to a new file, or to the standard output for `-`.
struct FileSink: ByteSink {
    private let handle: FileHandle
    private let path: String

    init(_ path: String) throws {
        self.path = path
        if path == "-" {
            handle = .standardOutput
            return
        }
        // Health data is for its owner only.
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw HealthExportError("\(path) cannot be written. Choose a folder that exists and is yours.") }
        self.handle = handle
    }

    func write(_ bytes: [UInt8]) throws {
        do {
            try handle.write(contentsOf: bytes)
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            let isClosed = cause?.domain == NSPOSIXErrorDomain && cause?.code == Int(EPIPE)
            throw HealthExportError(
                "\(path == "-" ? "The output" : path) cannot be written: \(SystemReason(error))",
                isOutputClosed: isClosed)
        }
    }

    var takesFiles: Bool { false }
    func write(file name: String, _ bytes: [UInt8]) { preconditionFailure("a file alone has none beside it") }

    func finish() throws { if path != "-" { try handle.close() } }
}

/// Writes an archive: the main file, then those beside it.
struct ZipSink: ByteSink {
    private static let folder = "apple_health_export/"
    private let writer: ZipWriter

    init(_ path: String) throws {
        writer = try ZipWriter(to: path)
        try writer.beginEntry(name: ZipSink.folder + "export.xml", mayPassFourGigabytes: true)
    }

    func write(_ bytes: [UInt8]) throws { try writer.write(bytes) }

    var takesFiles: Bool { true }

    func write(file name: String, _ bytes: [UInt8]) throws {
        try writer.beginEntry(name: ZipSink.folder + name)
        try writer.write(bytes)
    }

    func finish() throws { try writer.finish() }
}
