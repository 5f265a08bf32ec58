import ColumnFormat
import HealthModel
import LMDB

// Sync state is stored beside the samples, and changes in the same transaction as the data that it describes.
extension SampleReading where Self: ~Copyable {
    /// Returns the registered peers.
    public func peers() throws -> [RegisteredPeer] {
        try PeerTables.records(as: RegisteredPeer.self, in: snapshot).sorted { $0.id < $1.id }
    }

    /// Returns a peer; `nil` if it is not registered.
    public func peer(_ name: PeerID) throws -> RegisteredPeer? {
        let snapshot = snapshot
        return try PeerTables.record(PeerKey.peer(name, snapshot.header.hashKey), as: RegisteredPeer.self, in: snapshot)
    }

    /// Returns the anchors of all peers, or of one.
    package func anchors(of peer: PeerID? = nil) throws -> [Anchor] {
        let snapshot = snapshot
        return try PeerTables.records(
            prefix: peer.map { PeerKey.peer($0, snapshot.header.hashKey) } ?? [], as: Anchor.self, in: snapshot)
    }

    /// Returns the anchor of a peer's feed of a type; `nil` if nothing was read yet.
    package func anchor(peer: PeerID, type: SampleType, scope: String = "") throws -> Anchor? {
        let snapshot = snapshot
        guard let number = try NameTable.askedNumber(of: type, in: snapshot) else { return nil }
        return try PeerTables.record(
            PeerKey.anchor(peer, number, scope, snapshot.header.hashKey), as: Anchor.self, in: snapshot)
    }

    /// Returns the resolved conflicts, oldest first.
    public func audit() throws -> [AuditEntry] { try PeerTables.records(as: AuditEntry.self, in: snapshot) }
}
