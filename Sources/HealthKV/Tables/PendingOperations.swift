import ColumnFormat
import HealthModel
import LMDB

extension Snapshot {
    /// Returns the directory of a peer's queue. A writer's own changes are in the context until it commits.
    func directory(of peer: String) throws -> QueueDirectory {
        if let changed = context.state.directories[peer] { return changed }
        return try record(PeerKey.directory(peer, header.hashKey), as: QueueDirectory.self)
            ?? QueueDirectory(peer: peer)
    }

    /// Returns the directories of all peers with a queue, sorted by name.
    func directories() throws -> [QueueDirectory] {
        var known = context.state.directories
        var cursor = try view.cursor(tables[.pending])
        var found = try cursor.first()
        while found {
            let key = cursor.key.copied()
            if PeerKey.isDirectory(key) {
                let stored = try StoredSync<QueueDirectory>(recordBytes: cursor.value)
                guard stored.key.keyBytes == key else { throw damaged("a record of sync stands under another's key") }
                if known[stored.record.peer] == nil { known[stored.record.peer] = stored.record }
            }
            found = try cursor.seek(PeerKey.behind(peerOf: key))
        }
        return known.values.filter { !$0.sections.isEmpty }.sorted { $0.peer < $1.peer }
    }

    /// Returns at most `limit` operations of some sections after a place, in the order of the queue.
    func operations(
        of peer: String, in sections: [UInt32], after sequence: UInt64 = 0, limit: Int = .max
    ) throws -> [PendingOperation] {
        guard sequence < .max, limit > 0 else { return [] }
        var operations: [PendingOperation] = []
        for section in sections {
            operations += try records(
                prefix: PeerKey.section(peer, section, header.hashKey),
                from: PeerKey.pending(peer, section, sequence + 1, header.hashKey), limit: limit,
                as: PendingOperation.self)
        }
        guard sections.count > 1 else { return operations }
        operations.sort { $0.sequence < $1.sequence }
        return operations.count > limit ? Array(operations.prefix(limit)) : operations
    }

    func place(of sample: SampleID, in peer: String) throws -> PendingPlace? {
        try record(PeerKey.place(peer, sample, header.hashKey), as: PendingPlace.self)
    }

    /// Returns the type of a live or deleted sample; 0 if it is not known.
    fileprivate func typeNumber(of sample: SampleID) throws -> UInt32 {
        if let found = try find(sample) { return found.lane.type }
        return try tombstone(sample)?.type ?? 0
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the operations that wait for all peers, or for one, in the order of their queues.
    public func pending(for peer: String? = nil) throws -> [PendingOperation] {
        let snapshot = snapshot
        let directories = try peer.map { [try snapshot.directory(of: $0)] } ?? snapshot.directories()
        var operations: [PendingOperation] = []
        for directory in directories {
            operations += try snapshot.operations(of: directory.peer, in: directory.sections.map(\.number))
        }
        return operations
    }

    /// Returns at most `limit` operations that wait for a peer, after a place in its queue.
    public func pending(for peer: String, after sequence: UInt64, limit: Int) throws -> [PendingOperation] {
        let snapshot = snapshot
        try snapshot.require(limit, 0, "limit")
        let sections = try snapshot.directory(of: peer).sections.map(\.number)
        return try snapshot.operations(of: peer, in: sections, after: sequence, limit: limit)
    }

    /// Returns at most `limit` operations of some groups of a peer's queue, after a place in it.
    ///
    /// - Parameters:
    ///   - peer: the name of the peer.
    ///   - groups: as returned by ``pendingGroups(for:)`` in the same transaction.
    ///   - sequence: return only operations after this place in the queue; 0 to start at the beginning.
    ///   - limit: the maximum number of operations to return.
    public func pending(
        for peer: String, in groups: [PendingGroup], after sequence: UInt64 = 0, limit: Int = .max
    ) throws -> [PendingOperation] {
        try snapshot.require(limit, 0, "limit")
        return try snapshot.operations(of: peer, in: groups.map(\.section), after: sequence, limit: limit)
    }

    /// Returns the operation of a sample that waits for a peer.
    public func pending(peer: String, sample: SampleID) throws -> PendingOperation? {
        let snapshot = snapshot
        guard let place = try snapshot.place(of: sample, in: peer) else { return nil }
        return try snapshot.record(
            PeerKey.pending(peer, place.section, place.sequence, snapshot.header.hashKey), as: PendingOperation.self)
    }

    /// Returns the operation with an id; `nil` if it is no longer queued.
    public func pending(id: String) throws -> PendingOperation? {
        guard let mark = id.lastIndex(of: "#"), let sequence = UInt64(id[id.index(after: mark)...]), sequence > 0 else {
            return nil
        }
        let (snapshot, peer) = (snapshot, String(id[..<mark]))
        for section in try snapshot.directory(of: peer).sections {
            let found = try snapshot.operations(of: peer, in: [section.number], after: sequence - 1, limit: 1)
            if let operation = found.first, operation.sequence == sequence { return operation }
        }
        return nil
    }

    /// Returns the operations that wait for a peer as groups by type, state and reason. The cost does not depend on the
    /// number of operations.
    public func pendingGroups(for peer: String) throws -> [PendingGroup] {
        let snapshot = snapshot
        return try snapshot.directory(of: peer).sections.map { section in
            PendingGroup(
                type: section.type == 0 ? nil : try snapshot.type(section.type), state: section.state,
                reason: section.reason, count: Int(clamping: section.count), earliest: section.earliest,
                section: section.number)
        }
    }

    /// Returns the number of operations that wait for a peer, by state and type. The cost does not depend on the number
    /// of operations.
    ///
    /// ```swift
    /// let counts = try store.read { try $0.pendingCounts(for: "HealthKit") }
    /// let parked = counts[.parked, of: .bodyMass]
    /// ```
    public func pendingCounts(for peer: String) throws -> PendingCounts {
        PendingCounts(groups: try pendingGroups(for: peer))
    }
}

extension WriteTransaction {
    /// Appends an operation to its peer's queue, replacing any operation of the same sample, and assigns its place. A
    /// place is never assigned twice, so that information about a finished operation cannot apply to another one.
    ///
    /// - Parameters:
    ///   - operation: the operation to append; its ``PendingOperation/sequence`` is ignored.
    ///   - type: the type of the sample; if omitted, the store looks it up.
    @discardableResult
    public mutating func enqueue(_ operation: PendingOperation, of type: SampleType? = nil) throws -> PendingOperation {
        if let type { return try enqueue(operation, type: number(of: type)) }
        return try enqueue(operation, type: snapshot.typeNumber(of: operation.sample))
    }

    mutating func enqueue(_ operation: PendingOperation, type: UInt32) throws -> PendingOperation {
        var operation = operation
        if let prior = try snapshot.place(of: operation.sample, in: operation.peer) { try remove(prior) }
        operation.sequence = commit << 32 | UInt64(state.takeOrdinal())
        try insert(operation, type)
        return operation
    }

    /// Stores attempts, next try, state and reason of a queued operation. Does nothing if the operation is no longer
    /// queued.
    public mutating func updatePending(_ operation: PendingOperation) throws {
        guard let place = try snapshot.place(of: operation.sample, in: operation.peer),
            place.sequence == operation.sequence,
            let section = try snapshot.directory(of: operation.peer)[place.section]
        else { return }
        try remove(place)
        try insert(operation, section.type)
    }

    /// Removes an operation from its queue, because it is done or abandoned.
    public mutating func removePending(_ operation: PendingOperation) throws {
        guard let place = try snapshot.place(of: operation.sample, in: operation.peer),
            place.sequence == operation.sequence
        else { return }
        try remove(place)
    }

    private mutating func insert(_ operation: PendingOperation, _ type: UInt32) throws {
        let (peer, hashKey) = (operation.peer, state.header.hashKey)
        var directory = try snapshot.directory(of: peer)
        let section = directory.add(operation, type: type)
        state.directories[peer] = directory
        try put(operation, PeerKey.pending(peer, section, operation.sequence, hashKey))
        let place = PendingPlace(peer: peer, sample: operation.sample, sequence: operation.sequence, section: section)
        try put(place, PeerKey.place(peer, operation.sample, hashKey))
    }

    private mutating func remove(_ place: PendingPlace) throws {
        let (peer, hashKey) = (place.peer, state.header.hashKey)
        var directory = try snapshot.directory(of: peer)
        try forget(PeerKey.pending(peer, place.section, place.sequence, hashKey), as: PendingOperation.self)
        try forget(PeerKey.place(peer, place.sample, hashKey), as: PendingPlace.self)
        directory.remove(from: place.section)
        state.directories[peer] = directory
        try raiseEarliest(of: peer, place.section, limit: WriteTransaction.lookedThrough)
    }

    /// The earliest next try of a section is always exact if the section has at most this many operations.
    private static let lookedThrough: UInt64 = 64

    /// Makes the times exact before which no operation of a peer's queue is due. These times are never too late, but in
    /// long sections they become too early when the operations that determined them are done.
    public mutating func settleNextTries(of peer: String, at now: Instant) throws {
        for section in try snapshot.directory(of: peer).sections
        where section.state != .quarantined && section.earliest <= now {
            try raiseEarliest(of: peer, section.number, to: now)
        }
    }

    /// Sets the earliest next try of a section to that of its operations. Stops as soon as one operation shows that the
    /// time need not be raised, at `now` or at all, and does nothing for a section with more operations than `limit`.
    private mutating func raiseEarliest(
        of peer: String, _ number: UInt32, to now: Instant = .distantPast, limit: UInt64 = .max
    ) throws {
        var directory = try snapshot.directory(of: peer)
        guard let section = directory[number], section.count <= limit else { return }
        var (sequence, earliest) = (UInt64(0), Instant.distantFuture)
        while true {
            let page = try snapshot.operations(of: peer, in: [number], after: sequence, limit: 64)
            for operation in page {
                earliest = min(earliest, operation.nextTry)
                if earliest <= max(section.earliest, now) { return }
            }
            guard page.count == 64, let last = page.last else { break }
            sequence = last.sequence
        }
        directory.set(earliest: earliest, of: number)
        state.directories[peer] = directory
        state.isChanged = true
    }

    /// Stores the queue directories that this transaction changed.
    mutating func putDirectories() throws {
        let hashKey = state.header.hashKey
        for (peer, directory) in state.directories.sorted(by: { $0.key < $1.key }) {
            let key = PeerKey.directory(peer, hashKey)
            if directory.sections.isEmpty {
                try forget(key, as: QueueDirectory.self)
            } else {
                try put(directory, key)
            }
        }
        state.directories = [:]
    }

    /// Requeues every operation that can be found, and so rebuilds counts and places.
    mutating func rebuildQueues() throws {
        let operations = try snapshot.allOperations()
        state.directories = [:]
        try clear(.pending)
        for operation in operations { try insert(operation, snapshot.typeNumber(of: operation.sample)) }
    }
}

extension Snapshot {
    /// Returns every operation of the table, independently of the directories. If a sample has two, returns the later
    /// one.
    fileprivate func allOperations() throws -> [PendingOperation] {
        struct Place: Hashable {
            let peer: String
            let sample: SampleID
        }
        var operations: [Place: PendingOperation] = [:]
        var cursor = try view.cursor(tables[.pending])
        while try cursor.next() {
            guard PeerKey.isOperation(cursor.key.copied()) else { continue }
            let operation = try StoredSync<PendingOperation>(recordBytes: cursor.value).record
            let place = Place(peer: operation.peer, sample: operation.sample)
            if let other = operations[place], other.sequence > operation.sequence { continue }
            operations[place] = operation
        }
        return operations.values.sorted { ($0.sequence, $0.peer) < ($1.sequence, $1.peer) }
    }
}
