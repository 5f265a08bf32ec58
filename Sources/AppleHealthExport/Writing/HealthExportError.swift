#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Why a store cannot be exported.
public struct HealthExportError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, and what to do.
    public let description: String
    /// Whether the reader of the output has gone.
    package let isOutputClosed: Bool

    init(_ description: String, isOutputClosed: Bool = false) {
        self.description = description
        self.isOutputClosed = isOutputClosed
    }
}

extension HealthExportError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
