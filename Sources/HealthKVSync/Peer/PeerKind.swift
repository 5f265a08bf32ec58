/// A peer of one of the two kinds.
enum PeerKind: Sendable {
    case database(any DatabasePeer)
    case records(any RecordPeer)

    var peer: any Peer {
        switch self {
        case .database(let peer): peer
        case .records(let peer): peer
        }
    }

    /// Whether the peer keeps records, which contain their own order.
    var keepsRecords: Bool { if case .records = self { true } else { false } }
}
