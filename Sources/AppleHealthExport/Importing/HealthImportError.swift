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
    static let entities = HealthImportError(
        "It declares entities, which no export of Apple Health does. Nothing of it was read.")
}

extension HealthImportError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
