#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Apps show `localizedDescription`. Without these conformances it holds only the name of the type.

extension SyncIssue: LocalizedError {
    /// The same as its description.
    public var errorDescription: String? { description }
}

extension PeerError: LocalizedError {
    /// The same as its description.
    public var errorDescription: String? { description }
}
