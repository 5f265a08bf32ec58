#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Apps show `localizedDescription`, which without this tells nothing but the name of the type.

extension SyncIssue: LocalizedError {
    /// The same as its description.
    public var errorDescription: String? { description }
}

extension PeerError: LocalizedError {
    /// The same as its description.
    public var errorDescription: String? { description }
}
