import HealthKVSync

/// A peer on trial, with another party that writes to the same other side.
///
/// The trial uses body masses in kilograms, and steps unless ``knowsSteps`` says otherwise. A peer that needs
/// authorization must have it for both types before the trial begins.
public struct PeerTrial: Sendable {
    /// The peer; a ``DatabasePeer`` or a ``RecordPeer``.
    public var peer: any Peer
    /// Writes a sample there as another app or device, with its source, and with its sync identifier if it has one.
    public var write: @Sendable (Sample) async throws -> Void
    /// Deletes a sample there as the app or device that wrote it, by the sample's time.
    public var delete: @Sendable (Sample) async throws -> Void
    /// Writes a sample as this app did before it used sync identifiers; `nil` if that never happened.
    public var writeOwn: (@Sendable (Sample) async throws -> Void)?
    /// Returns the same peer as a new process would create it, on the same other side; `nil` if that cannot be tested.
    public var reopen: (@Sendable () async throws -> any Peer)?
    /// Whether the other side also takes steps. Without them, the rules that separate types are not checked.
    public var knowsSteps = true

    /// Creates a trial of a peer, with closures that write to its other side as another party.
    public init(
        _ peer: any Peer, write: @escaping @Sendable (Sample) async throws -> Void,
        writeOwn: (@Sendable (Sample) async throws -> Void)? = nil,
        reopen: (@Sendable () async throws -> any Peer)? = nil,
        delete: @escaping @Sendable (Sample) async throws -> Void
    ) {
        precondition(peer is any DatabasePeer || peer is any RecordPeer, "the peer is of neither kind")
        self.peer = peer
        self.write = write
        self.writeOwn = writeOwn
        self.reopen = reopen
        self.delete = delete
    }
}
