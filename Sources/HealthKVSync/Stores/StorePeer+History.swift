import HealthKV

/// What a store remembers of another store that reads it and writes to it as its peer.
struct ReaderMemory: EngineNote, Sendable, Equatable {
    /// How far the other store has acknowledged our feed by reading it. Changes that it wrote here itself do not count.
    /// A reader that returns with an earlier place was restored.
    var read: ChangeToken?
    /// The last place in the other store's feed that came with operations for this one. A writer that no longer knows
    /// this place was restored.
    var place: ChangeToken?
}

extension SampleReading where Self: ~Copyable {
    func memory(of reader: PeerID) throws -> ReaderMemory {
        EngineNotes.decode(try syncNote(EngineNotes.memory(reader)), as: ReaderMemory.self) ?? ReaderMemory()
    }
}

extension WriteTransaction {
    /// Stores the place in a writer's feed, in the transaction that stores the operations that came with it.
    mutating func remember(_ place: ChangeToken, of writer: PeerID) throws {
        try changeMemory(of: writer) { $0.place = place.greatest(with: $0.place) }
    }

    /// Stores how far a reader has read; `nil` if it begins at the beginning.
    mutating func rememberReading(upTo token: ChangeToken?, of reader: PeerID) throws {
        try changeMemory(of: reader) { $0.read = token?.greatest(with: $0.read) }
    }

    /// Forgets both places, because another store has the name now.
    mutating func forgetMemory(of name: PeerID) throws { try changeMemory(of: name) { $0 = ReaderMemory() } }

    private mutating func changeMemory(of reader: PeerID, _ change: (inout ReaderMemory) -> Void) throws {
        let before = try memory(of: reader)
        var memory = before
        change(&memory)
        if memory != before { try setSyncNote(EngineNotes.memory(reader), try EngineNotes.encode(memory)) }
    }
}

extension ChangeToken {
    /// Returns `true` if this place is after a remembered one.
    func isBeyond(_ remembered: ChangeToken?) -> Bool {
        guard let remembered, remembered.isComparable(to: self) else { return true }
        return remembered < self
    }
}

// A restoration of either side is detected: the other store's by places of its feed that it no longer holds, ours by
// the places that the other store remembers of it.
extension StorePeer {
    /// Returns the place in our feed that the other store holds. If it was told of a later place, it was restored, and
    /// continues as another replica.
    public func meet(told: ChangeToken?) async throws(PeerError) -> PeerMemory? {
        let ourName = try ourName()
        let memory = try StorePeer.wrapped {
            try other.read { try PeerMemory(place: $0.memory(of: ourName).place, read: placeRead($0)) }
        }
        // A store that remembers nothing may be a new one in place of the other.
        guard let told, let place = memory.place, told.isBeyond(place) else { return memory }
        try await restoring { told.isBeyond(try $0.memory(of: ourName).place) }
        return memory
    }

    /// Returns how far the other store has read our feed, from this replica, under any name.
    private func placeRead(_ txn: borrowing ReadTransaction) throws -> ChangeToken? {
        guard let greeting = reader.greeting else { return nil }
        return try txn.anchors().compactMap { PeerPlace($0.token)?.token }.filter {
            $0.store == greeting.store && $0.epoch == greeting.epoch
        }.max()
    }

    /// Throws if the other store, or ours, is an older state of itself than when the token was given or acknowledged.
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

    /// Makes the other store continue as another replica, unless that has happened meanwhile.
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
