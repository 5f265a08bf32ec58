#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An error of reading or writing a file or a zip archive.
///
/// Its text names the file, and the entry if there is one, and says what to do. It never contains bytes of an entry.
package struct ArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, for callers that decide by it.
    package enum Code: Hashable, Sendable {
        /// There is no such file.
        case missing
        /// The system refuses to open or to read the file, or the path leads to a folder or a device.
        case unreadable
        /// The system refuses to create or to write the file.
        case unwritable
        /// The file is no zip archive.
        case notAnArchive
        /// The end of the file is missing.
        case cutOff
        /// Fields of the archive contradict each other, or compressed bytes cannot be decompressed.
        case damaged
        /// The contents of an entry differ from its checksum or its size.
        case mismatch
        /// The archive has more entries, or a longer directory, than is read.
        case tooLarge
        /// The archive is one part of several.
        case multipart
        /// The entry is encrypted.
        case encrypted
        /// The entry is compressed by another method than deflate.
        case unknownMethod
        /// The name of the entry leads out of the folder of the archive, or is too long to write.
        case unsafeName
        /// The entry shares bytes with another entry or with the directory.
        case overlapping
        /// The system has no memory left.
        case outOfMemory
    }

    package let code: Code
    /// The path as the caller gave it, or "standard input" or "standard output".
    package let file: String
    /// The name of the entry, fit for printing.
    package let entry: String?
    /// What happened, and what to do.
    package let reason: String

    package init(_ code: Code, file: String, entry: String? = nil, _ reason: String) {
        self.code = code
        self.file = file
        self.entry = entry.map(Self.printable)
        self.reason = reason
    }

    package var description: String {
        guard let entry else { return "\(file): \(reason)" }
        return "\(file): entry \"\(entry)\": \(reason)"
    }

    /// Replaces control characters, which would command the terminal, and shortens long names.
    private static func printable(_ name: String) -> String {
        let limit = 200
        var text = ""
        for scalar in name.unicodeScalars.prefix(limit) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: text.unicodeScalars.append("?")
            default: text.unicodeScalars.append(scalar)
            }
        }
        return name.unicodeScalars.count > limit ? text + "…" : text
    }
}

extension ArchiveError: LocalizedError {
    package var errorDescription: String? { description }
}
