#if canImport(Foundation)
    // The small Foundation has no file handles.
    import Foundation
#endif

/// A stream that the tool writes to.
struct OutputStream {
    private let handle: FileHandle

    static let output = OutputStream(handle: .standardOutput)
    static let error = OutputStream(handle: .standardError)

    var isTerminal: Bool { isatty(handle.fileDescriptor) == 1 }

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

/// Whoever reads our output has seen enough.
struct OutputClosed: Error {}

/// Why the system could not do something with a file, in its own words.
enum FileReason {
    static func text(of error: any Error) -> String {
        let error = error as NSError
        let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError ?? error
        let text = cause.localizedFailureReason ?? cause.localizedDescription
        // It becomes a part of a sentence.
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}
