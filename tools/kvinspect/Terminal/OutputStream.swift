#if canImport(Foundation)
    // The small Foundation has no file handles.
    import Foundation
#endif
import LMDB

/// A stream that the tool writes to.
struct OutputStream: Sendable {
    private let handle: FileHandle

    init(handle: FileHandle) { self.handle = handle }

    static let output = OutputStream(handle: .standardOutput)
    static let error = OutputStream(handle: .standardError)

    var isTerminal: Bool { isatty(handle.fileDescriptor) == 1 }

    /// The size of the terminal in characters; `nil` if this is none.
    var size: (columns: Int, rows: Int)? { FileSystem.terminalSize(of: handle.fileDescriptor) }

    /// Whether the terminal's keys are for this process and its group.
    var isInForeground: Bool { tcgetpgrp(handle.fileDescriptor) == getpgrp() }

    /// Gives the terminal's keys to a group of processes.
    func bringToForeground(_ group: Int32) { _ = tcsetpgrp(handle.fileDescriptor, group) }

    func close() throws { try handle.close() }

    /// Writes all of it.
    func send(_ bytes: [UInt8]) throws {
        do {
            try handle.write(contentsOf: bytes)
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            if cause?.domain == NSPOSIXErrorDomain, cause?.code == Int(EPIPE) { throw OutputClosed() }
            throw Failure("The output cannot be written: \(FileReason.text(of: error)).")
        }
    }
}

/// The reader of the output has closed it.
struct OutputClosed: Error {
    /// Runs `body` until the output is closed. The caller still reports what it learned about the store until then.
    static func end(_ body: () throws -> Void) throws {
        do { try body() } catch is OutputClosed {}
    }
}

/// Ends a walk when the output closes, so that the walk still returns the damage that it skipped until then.
struct OutputWatch {
    private var closed: OutputClosed?

    /// Returns `true` while `body` wants more and the output is open.
    mutating func goesOn(_ body: () throws -> Bool) throws -> Bool {
        do {
            return try body()
        } catch let error as OutputClosed {
            closed = error
            return false
        }
    }

    /// Throws if the output was closed.
    func finish() throws { if let closed { throw closed } }
}

/// Why the system could not do something with a file, in its own words.
enum FileReason {
    static func text(of error: any Error) -> String {
        let error = error as NSError
        let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError ?? error
        let text = cause.localizedFailureReason ?? cause.localizedDescription
        // The text becomes part of a sentence.
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}
