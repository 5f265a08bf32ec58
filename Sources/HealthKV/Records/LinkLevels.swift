import ColumnFormat
import HealthModel
import LMDB

/// The levels of a peer's packed links, newest first.
struct PeerLevels {
    let peer: [UInt8]
    var levels: [LinkLevel] = []
    /// Whether the levels cannot be read.
    var areDamaged = false

    /// The name of the peer; `nil` if no links are packed.
    var name: PeerID? { levels.first?.directory.peer }
}

/// A packed link and the level in which it was found.
struct FoundLink {
    let link: PackedLink
    let level: UInt8
}
