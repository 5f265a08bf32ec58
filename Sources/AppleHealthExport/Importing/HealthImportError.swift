#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Why a file cannot be imported at all.
public struct HealthImportError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, and what to do.
    public let description: String

    init(_ description: String) { self.description = description }

    static let noExport = HealthImportError(
        "It holds no export of Apple Health: no element HealthData. Choose export.zip, the XML file in it, or its folder."
    )
    static let gzip = HealthImportError("It is compressed by gzip. Unpack it first, for instance by gunzip.")
    static let utf16 = HealthImportError(
        "It is text in UTF-16, and exports are in UTF-8. Convert it first, for instance by iconv -f UTF-16 -t UTF-8.")

    static func several(_ names: [String]) -> HealthImportError {
        HealthImportError(
            "It holds several exports of Apple Health: \(names.joined(separator: ", ")). Import each by itself.")
    }

    static func expands(_ name: String, limit: Int) -> HealthImportError {
        HealthImportError(
            "Its entry \(name) is more than \(limit) times as large as in the archive, as no export is. "
                + "If you trust it, unpack it and import the XML file. Nothing of it was imported.")
    }

    static let entities = HealthImportError(
        "It declares entities, which no export of Apple Health does. Nothing of it was read.")
}

extension HealthImportError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
