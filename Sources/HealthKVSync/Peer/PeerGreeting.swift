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
    /// In an answer: how much the sender takes at once; `nil` if it does not say. A ``RemotePeer`` keeps to this and to
    /// its own limits.
    public var limits: PeerLimits?

    /// Creates the greeting of a store.
    public init(store: SampleID, replica: UInt32, epoch: UInt32) {
        (self.store, self.replica, self.epoch) = (store, replica, epoch)
    }

    /// Decodes a greeting; what an answer may lack is not set.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        version = try values.decode(Int.self, forKey: .version)
        oldest = try values.decode(Int.self, forKey: .oldest)
        store = try values.decode(SampleID.self, forKey: .store)
        replica = try values.decode(UInt32.self, forKey: .replica)
        epoch = try values.decode(UInt32.self, forKey: .epoch)
        isNameTakenOver = try values.decodeIfPresent(Bool.self, forKey: .isNameTakenOver) ?? false
        isSuperseded = try values.decodeIfPresent(Bool.self, forKey: .isSuperseded) ?? false
        limits = try values.decodeIfPresent(PeerLimits.self, forKey: .limits)
    }
}

extension PeerGreeting {
    /// Creates the greeting of an open store.
    init(_ store: SampleStore) throws {
        self = try store.read { PeerGreeting(store: $0.storeID, replica: $0.replica, epoch: $0.epoch) }
    }

    /// The name of a store that has none: no two devices share it.
    var defaultName: PeerID { PeerID("\(store) \(String(replica, radix: 16))") }

    /// Returns `true` if both sides speak a common version of the protocol.
    func speaks(with other: PeerGreeting) -> Bool { version >= other.oldest && other.version >= oldest }

    func isSameStore(as other: PeerGreeting) -> Bool { store == other.store && replica == other.replica }
}
