#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Why a store cannot be exported.
public struct HealthExportError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, and what to do.
    public let description: String

    init(_ description: String) { self.description = description }
}

extension HealthExportError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
