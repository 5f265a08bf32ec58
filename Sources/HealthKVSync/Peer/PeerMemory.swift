import HealthKV

/// What a peer remembers of a store that it syncs with.
public struct PeerMemory: Sendable, Hashable, Codable {
    /// The last place in the store's feed that came with operations for the peer; `nil` if it was given none.
    public var place: ChangeToken?
    /// How far the peer itself has read the store's feed; `nil` if it does not read it, or cannot tell.
    public var read: ChangeToken?

    /// Creates a memory; by default it has no places.
    public init(place: ChangeToken? = nil, read: ChangeToken? = nil) { (self.place, self.read) = (place, read) }
}
