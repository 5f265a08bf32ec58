import HealthKV

/// Who syncs: what a store and a peer that keeps records tell each other before a pass.
public struct PeerGreeting: Sendable, Hashable, Codable {
    /// The version of the protocol that this engine speaks.
    public static let currentVersion = 1

    /// The newest version of the protocol that the sender speaks. Both use the newest that both speak.
    public var version = PeerGreeting.currentVersion
    /// The oldest version that it speaks.
    public var oldest = PeerGreeting.currentVersion
    /// The store, which all copies of it share.
    public var store: SampleID
    /// Which copy of the store it is.
    public var replica: UInt32
    /// How often the store was restored from a copy.
    public var epoch: UInt32
    /// In an answer: the name under which the sender of the greeting is known was another store's until now.
    public var isNameTakenOver = false

    /// The greeting of a store.
    public init(store: SampleID, replica: UInt32, epoch: UInt32) {
        (self.store, self.replica, self.epoch) = (store, replica, epoch)
    }
}

extension PeerGreeting {
    /// The greeting of a store as it is.
    init(_ store: SampleStore) throws {
        self = try store.read { PeerGreeting(store: $0.storeID, replica: $0.replica, epoch: $0.epoch) }
    }

    /// The name of a store that was given none: no two devices have the same.
    var defaultName: String { "\(store) \(String(replica, radix: 16))" }

    /// Whether both sides speak some version of the protocol.
    func speaks(with other: PeerGreeting) -> Bool { version >= other.oldest && other.version >= oldest }

    func isSameStore(as other: PeerGreeting) -> Bool { store == other.store && replica == other.replica }
}

extension PeerSession {
    /// Tells a peer that keeps records who syncs with it, and keeps who it is.
    func greet() async throws {
        guard peer.traits.keepsRecords else { return }
        let ours = try PeerGreeting(store)
        guard let theirs = try await peer.greet(ours) else { return }
        guard ours.speaks(with: theirs) else {
            throw PeerError(
                .invalid, "the peer speaks version \(theirs.version) of the protocol, and none that is known")
        }
        guard !theirs.isSameStore(as: ours) else { throw PeerError(.invalid, "the peer is the store itself") }
        var known = theirs
        known.isNameTakenOver = false
        let (now, answer, before) = (now, known, try state().greeting)
        guard before != answer || theirs.isNameTakenOver else { return }
        try await update { _, state in
            state.greeting = answer
            if let before, !before.isSameStore(as: answer) {
                state.note(.peerReplaced, "the peer has another store than before, or a restored one", at: now)
            }
            guard theirs.isNameTakenOver else { return }
            state.note(.nameTakenOver, "at the peer this name was another store's until now", at: now)
        }
    }
}
