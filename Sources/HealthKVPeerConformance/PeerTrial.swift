import HealthKVSync

/// A peer on trial, with somebody else who writes to the same other side.
///
/// Its samples are body masses in kilograms, and steps unless ``knowsSteps`` says otherwise. A peer that needs authorization has been granted
/// it for both before the trial begins.
public struct PeerTrial: Sendable {
    /// The peer.
    public var peer: any Peer
    /// Another app or device writes a sample there, with its source, and with its sync identifier where it has one.
    public var write: @Sendable (Sample) async throws -> Void
    /// Another app or device deletes a sample that it wrote, by its time.
    public var delete: @Sendable (Sample) async throws -> Void
    /// This app itself, as it was before it knew sync identifiers, writes a sample; `nil` where there is no such thing.
    public var writeOwn: (@Sendable (Sample) async throws -> Void)?
    /// The same peer as a new process would make it, on the same other side; `nil` where that cannot be tried.
    public var reopen: (@Sendable () async throws -> any Peer)?
    /// Whether the other side takes steps too. Without them, what keeps types apart is not tried.
    public var knowsSteps = true

    /// A peer, and how others write to where it reads from.
    public init(
        _ peer: any Peer, write: @escaping @Sendable (Sample) async throws -> Void,
        writeOwn: (@Sendable (Sample) async throws -> Void)? = nil,
        reopen: (@Sendable () async throws -> any Peer)? = nil,
        delete: @escaping @Sendable (Sample) async throws -> Void
    ) {
        self.peer = peer
        self.write = write
        self.writeOwn = writeOwn
        self.reopen = reopen
        self.delete = delete
    }
}
