import HealthKV

/// What a peer remembers of a store that it syncs with.
public struct PeerMemory: Sendable, Hashable, Codable {
    /// The last place of the store's feed that came with what the peer was given; `nil` where it was given nothing.
    public var place: ChangeToken?
    /// How far the peer itself has read the store's feed; `nil` where it does not, or cannot tell.
    public var read: ChangeToken?

    /// A memory of places, or of none.
    public init(place: ChangeToken? = nil, read: ChangeToken? = nil) { (self.place, self.read) = (place, read) }
}

/// What a store remembers of another that reads it and writes to it as its peer.
struct ReaderMemory: Codable, Sendable, Equatable {
    /// Up to where the other has acknowledged our feed by reading it. What it knows because it wrote it here does not count: a reader that
    /// comes back with less was restored.
    var read: ChangeToken?
    /// The last place of the other's feed that came with what it wrote here: a writer that does not know it any more was restored.
    var place: ChangeToken?
}

extension SampleReading where Self: ~Copyable {
    func memory(of reader: String) throws -> ReaderMemory {
        try EngineNotes.decode(syncNote(EngineNotes.memory(reader)), as: ReaderMemory.self) ?? ReaderMemory()
    }
}

extension WriteTransaction {
    /// Keeps the place of a writer's feed, in the transaction that stores what came with it.
    mutating func remember(_ place: ChangeToken, of writer: String) throws {
        try changeMemory(of: writer) { $0.place = place.greatest(with: $0.place) }
    }

    /// Keeps how far a reader has come; `nil` when it begins at the beginning.
    mutating func rememberReading(upTo token: ChangeToken?, of reader: String) throws {
        try changeMemory(of: reader) { $0.read = token?.greatest(with: $0.read) }
    }

    private mutating func changeMemory(of reader: String, _ change: (inout ReaderMemory) -> Void) throws {
        let before = try memory(of: reader)
        var memory = before
        change(&memory)
        if memory != before { try setSyncNote(EngineNotes.memory(reader), try EngineNotes.encode(memory)) }
    }
}

extension ChangeToken {
    /// Whether somebody who remembers a place remembers less than this one.
    func isBeyond(_ remembered: ChangeToken?) -> Bool {
        guard let remembered, remembered.isComparable(to: self) else { return true }
        return remembered < self
    }
}

// Both sides are found out when they were restored: the other store by places of its feed that it does not hold any more, ours by the
// places that the other remembers of it.
extension StorePeer {
    /// The place of our feed that the other store holds. Where it was told of more it was restored, and goes on as another replica.
    public func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? {
        let ourName = try ourName()
        let memory = try StorePeer.wrapped {
            try other.read { try PeerMemory(place: $0.memory(of: ourName).place, read: placeRead($0)) }
        }
        // One that remembers nothing may be a new one in the place of the other.
        guard let told, let place = memory.place, told.isBeyond(place) else { return memory }
        try await restoring { told.isBeyond(try $0.memory(of: ourName).place) }
        return memory
    }

    /// How far the other store has read our feed, as the replica that we are, under whatever name it does that.
    private func placeRead(_ txn: borrowing ReadTransaction) throws -> ChangeToken? {
        guard let greeting = reader.greeting else { return nil }
        return try txn.anchors().compactMap { FeedPlace($0.token)?.token }.filter {
            $0.store == greeting.store && $0.epoch == greeting.epoch
        }.max()
    }

    /// Throws when the other store, or ours, is an older state of what it was when the token was given or acknowledged.
    func checkHistory(_ token: ChangeToken) async throws(PeerError) {
        let ourName = try ourName()
        let (fit, read) = try StorePeer.wrapped {
            try other.read { (try $0.fit(of: token), try $0.memory(of: ourName).read) }
        }
        switch fit {
        case .fits: break
        case .otherStore, .otherEpoch: throw PeerError(.tokenExpired, "the store was restored")
        case .ahead, .forked:
            try await restoring { try $0.fit(of: token).isRolledBack }
            throw PeerError(.wentBackwards, "the store is older than what was read from it")
        }
        if let read, token.isComparable(to: read), token < read {
            throw PeerError(.readerWentBackwards, "more was acknowledged than the token says")
        }
    }

    /// Lets the other store go on as another replica, unless somebody else has seen to that meanwhile.
    private func restoring(
        _ isOld: @escaping @Sendable (inout WriteTransaction) throws -> Bool
    ) async throws(PeerError) {
        do {
            try await other.write { if try isOld(&$0) { try $0.beginEpoch() } }
        } catch {
            throw PeerError(.wentBackwards, "the store is older than what was read from it, and cannot be written to")
        }
    }
}
