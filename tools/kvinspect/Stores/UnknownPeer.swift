import HealthKV

/// A peer that the store does not know: most likely its name is misspelled.
enum UnknownPeer {
    /// Says that the store has no peer of this name, and which it has. Nothing is said of `nil`.
    static func mention(_ peer: PeerID?, in transaction: borrowing ReadTransaction, _ console: Console) throws {
        guard let peer, try transaction.peer(peer) == nil else { return }
        let known = try transaction.peers().map(\.id.rawValue).sorted().joined(separator: ", ")
        console.say(
            "The store has no peer '\(Table.clean(peer.rawValue))'."
                + (known.isEmpty ? "" : " It has: \(Table.clean(known))."))
    }
}
