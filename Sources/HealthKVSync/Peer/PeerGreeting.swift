import HealthKV

/// The identity that a store and a peer that keeps records tell each other before a pass.
public struct PeerGreeting: Sendable, Hashable, Codable {
    /// The version of the protocol that this engine speaks.
    public static let currentVersion = 1

    /// The newest version of the protocol that the sender speaks. Both sides use the newest version that both speak.
    public var version = PeerGreeting.currentVersion
    /// The oldest version that the sender speaks.
    public var oldest = PeerGreeting.currentVersion
    /// The identity of the store, which all its copies share.
    public var store: SampleID
    /// The number of this copy of the store.
    public var replica: UInt32
    /// How often the store was restored from a copy.
    public var epoch: UInt32
    /// In an answer: the name of the greeting's sender belonged to another store until now.
    public var isNameTakenOver = false
    /// In an answer: a later copy of the sender's store has taken the name. The sender is an older state of that store,
    /// or another copy. As this replica it receives nothing under the name.
    public var isSuperseded = false

    /// Creates the greeting of a store.
    public init(store: SampleID, replica: UInt32, epoch: UInt32) {
        (self.store, self.replica, self.epoch) = (store, replica, epoch)
    }
}

extension PeerGreeting {
    /// Creates the greeting of an open store.
    init(_ store: SampleStore) throws {
        self = try store.read { PeerGreeting(store: $0.storeID, replica: $0.replica, epoch: $0.epoch) }
    }

    /// The name of a store that has none: no two devices share it.
    var defaultName: String { "\(store) \(String(replica, radix: 16))" }

    /// Returns `true` if both sides speak a common version of the protocol.
    func speaks(with other: PeerGreeting) -> Bool { version >= other.oldest && other.version >= oldest }

    func isSameStore(as other: PeerGreeting) -> Bool { store == other.store && replica == other.replica }
}

extension PeerSession {
    /// Tells a peer that keeps records who syncs with it, and notes who the peer is. Returns `true` if our store has
    /// begun a new epoch for it.
    @discardableResult
    func greet() async throws -> Bool {
        guard peer.traits.keepsRecords else { return false }
        let epoch = try state().epoch
        guard let theirs = try await introduce() else { return false }
        let isAnother = try state().epoch != epoch
        var known = theirs
        known.isNameTakenOver = false
        let (now, answer, before) = (now, known, try state().greeting)
        guard before != answer || theirs.isNameTakenOver else { return isAnother }
        try await update { _, state in
            state.greeting = answer
            if let before, !before.isSameStore(as: answer) {
                state.note(.peerReplaced, "the peer has another store than before, or a restored one", at: now)
            }
            guard theirs.isNameTakenOver else { return }
            state.note(.nameTakenOver, "at the peer this name was another store's until now", at: now)
        }
        return isAnother
    }

    /// Returns the peer's answer to our greeting. A store that was rolled back to a state from before it became another
    /// replica becomes another replica again. A second device with a copy of the store under the same name looks the
    /// same, so the number of such changes is limited.
    private func introduce() async throws -> PeerGreeting? {
        let answer = try await exchangeGreetings()
        guard let answer, answer.isSuperseded else { return answer }
        if try await becomeAnotherReplica(), let again = try await exchangeGreetings(), !again.isSuperseded {
            return again
        }
        throw PeerError(.nameTaken, "another device reads under this name: give each device a name of its own, or none")
    }

    private func exchangeGreetings() async throws -> PeerGreeting? {
        let ours = try PeerGreeting(store)
        guard let theirs = try await peer.greet(ours) else { return nil }
        guard ours.speaks(with: theirs) else {
            throw PeerError(
                .invalid, "the peer speaks version \(theirs.version) of the protocol, and none that is known")
        }
        guard !theirs.isSameStore(as: ours) else { throw PeerError(.invalid, "the peer is the store itself") }
        return theirs
    }
}
