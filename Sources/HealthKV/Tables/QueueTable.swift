import ColumnFormat
import HealthModel
import LMDB

/// The operations that wait for peers, in sections by type, state and reason.
enum QueueTable {
    /// Returns the directory of a peer's queue. A writer's own changes are in the context until it commits.
    static func directory(of peer: PeerID, in snapshot: Snapshot) throws -> QueueDirectory {
        if let changed = snapshot.context.state.directories[peer] { return changed }
        return try PeerTables.record(
            PeerKey.directory(peer, snapshot.header.hashKey), as: QueueDirectory.self, in: snapshot)
            ?? QueueDirectory(peer: peer)
    }

    /// Returns the directories of all peers with a queue, sorted by name.
    static func directories(in snapshot: Snapshot) throws -> [QueueDirectory] {
        var known = snapshot.context.state.directories
        var cursor = try snapshot.view.cursor(snapshot.tables[.pending])
        var found = try cursor.first()
        while found {
            let key = cursor.key.copied()
            if PeerKey.isDirectory(key) {
                let stored = try StoredSync<QueueDirectory>(recordBytes: cursor.value)
                guard stored.key.keyBytes == key else {
                    throw snapshot.damaged(.syncRecordMisplaced)
                }
                if known[stored.record.peer] == nil { known[stored.record.peer] = stored.record }
            }
            found = try cursor.seek(PeerKey.behind(peerOf: key))
        }
        return known.values.filter { !$0.sections.isEmpty }.sorted { $0.peer < $1.peer }
    }

    /// Returns at most `limit` operations of some sections after a place, in the order of the queue.
    static func operations(
        of peer: PeerID, in sections: [UInt32], after sequence: UInt64 = 0, limit: Int = .max, in snapshot: Snapshot
    ) throws -> [PendingOperation] {
        guard sequence < .max, limit > 0 else { return [] }
        var operations: [PendingOperation] = []
        for section in sections {
            operations += try PeerTables.records(
                prefix: PeerKey.section(peer, section, snapshot.header.hashKey),
                from: PeerKey.pending(peer, section, sequence + 1, snapshot.header.hashKey), limit: limit,
                as: PendingOperation.self, in: snapshot)
        }
        guard sections.count > 1 else { return operations }
        operations.sort { $0.sequence < $1.sequence }
        return operations.count > limit ? Array(operations.prefix(limit)) : operations
    }

    static func place(of sample: SampleID, in peer: PeerID, in snapshot: Snapshot) throws -> PendingPlace? {
        try PeerTables.record(PeerKey.place(peer, sample, snapshot.header.hashKey), as: PendingPlace.self, in: snapshot)
    }

    /// Returns the type of a live or deleted sample; 0 if it is not known.
    static func typeNumber(of sample: SampleID, in snapshot: Snapshot) throws -> UInt32 {
        if let found = try SampleLookup.find(sample, in: snapshot) { return found.lane.type }
        return try TombstoneTable.tombstone(sample, in: snapshot)?.type ?? 0
    }

    static func enqueue(_ operation: PendingOperation, type: UInt32, in txn: inout WriteTransaction) throws
        -> PendingOperation
    {
        var operation = operation
        if let prior = try place(of: operation.sample, in: operation.peer, in: txn.snapshot) {
            try remove(prior, in: &txn)
        }
        operation.sequence = txn.commit << 32 | UInt64(txn.state.takeOrdinal())
        try insert(operation, type, in: &txn)
        return operation
    }

    static func insert(_ operation: PendingOperation, _ type: UInt32, in txn: inout WriteTransaction) throws {
        let (peer, hashKey) = (operation.peer, txn.state.header.hashKey)
        var directory = try QueueTable.directory(of: peer, in: txn.snapshot)
        let section = directory.add(operation, type: type)
        txn.state.directories[peer] = directory
        try PeerTables.put(operation, PeerKey.pending(peer, section, operation.sequence, hashKey), in: &txn)
        let place = PendingPlace(peer: peer, sample: operation.sample, sequence: operation.sequence, section: section)
        try PeerTables.put(place, PeerKey.place(peer, operation.sample, hashKey), in: &txn)
    }

    static func remove(_ place: PendingPlace, in txn: inout WriteTransaction) throws {
        let (peer, hashKey) = (place.peer, txn.state.header.hashKey)
        var directory = try QueueTable.directory(of: peer, in: txn.snapshot)
        try PeerTables.forget(
            PeerKey.pending(peer, place.section, place.sequence, hashKey), as: PendingOperation.self, in: &txn)
        try PeerTables.forget(PeerKey.place(peer, place.sample, hashKey), as: PendingPlace.self, in: &txn)
        directory.remove(from: place.section)
        txn.state.directories[peer] = directory
        try raiseEarliest(of: peer, place.section, limit: QueueTable.lookedThrough, in: &txn)
    }

    /// The earliest next try of a section is always exact if the section has at most this many operations.
    private static let lookedThrough: UInt64 = 64

    /// Sets the earliest next try of a section to that of its operations. Stops as soon as one operation shows that the
    /// time need not be raised, at `now` or at all, and does nothing for a section with more operations than `limit`.
    static func raiseEarliest(
        of peer: PeerID, _ number: UInt32, to now: Instant = .distantPast, limit: UInt64 = .max,
        in txn: inout WriteTransaction
    ) throws {
        var directory = try QueueTable.directory(of: peer, in: txn.snapshot)
        guard let section = directory[number], section.count <= limit else { return }
        var (sequence, earliest) = (UInt64(0), Instant.distantFuture)
        while true {
            let page = try operations(of: peer, in: [number], after: sequence, limit: 64, in: txn.snapshot)
            for operation in page {
                earliest = min(earliest, operation.nextTry)
                if earliest <= max(section.earliest, now) { return }
            }
            guard page.count == 64, let last = page.last else { break }
            sequence = last.sequence
        }
        directory.set(earliest: earliest, of: number)
        txn.state.directories[peer] = directory
        txn.state.isChanged = true
    }

    /// Stores the queue directories that this transaction changed.
    static func putDirectories(in txn: inout WriteTransaction) throws {
        let hashKey = txn.state.header.hashKey
        for (peer, directory) in txn.state.directories.sorted(by: { $0.key < $1.key }) {
            let key = PeerKey.directory(peer, hashKey)
            if directory.sections.isEmpty {
                try PeerTables.forget(key, as: QueueDirectory.self, in: &txn)
            } else {
                try PeerTables.put(directory, key, in: &txn)
            }
        }
        txn.state.directories = [:]
    }

    /// Requeues every operation that can be found, and so rebuilds counts and places.
    static func rebuild(in txn: inout WriteTransaction) throws {
        let operations = try allOperations(in: txn.snapshot)
        txn.state.directories = [:]
        try txn.clear(.pending)
        for operation in operations {
            try insert(operation, typeNumber(of: operation.sample, in: txn.snapshot), in: &txn)
        }
    }

    /// Returns every operation of the table, independently of the directories. If a sample has two, returns the later
    /// one.
    private static func allOperations(in snapshot: Snapshot) throws -> [PendingOperation] {
        struct Place: Hashable {
            let peer: PeerID
            let sample: SampleID
        }
        var operations: [Place: PendingOperation] = [:]
        var cursor = try snapshot.view.cursor(snapshot.tables[.pending])
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

extension SampleReading where Self: ~Copyable {
    /// Returns the operations that wait for all peers, or for one, in the order of their queues.
    public func pending(for peer: PeerID? = nil) throws -> [PendingOperation] {
        let snapshot = snapshot
        let directories =
            try peer.map { [try QueueTable.directory(of: $0, in: snapshot)] } ?? QueueTable.directories(in: snapshot)
        var operations: [PendingOperation] = []
        for directory in directories {
            operations += try QueueTable.operations(
                of: directory.peer, in: directory.sections.map(\.number), in: snapshot)
        }
        return operations
    }

    /// Returns at most `limit` operations that wait for a peer, after a place in its queue.
    public func pending(for peer: PeerID, after sequence: UInt64, limit: Int) throws -> [PendingOperation] {
        let snapshot = snapshot
        try snapshot.require(limit, 0, "limit")
        let sections = try QueueTable.directory(of: peer, in: snapshot).sections.map(\.number)
        return try QueueTable.operations(of: peer, in: sections, after: sequence, limit: limit, in: snapshot)
    }

    /// Returns at most `limit` operations of some groups of a peer's queue, after a place in it.
    ///
    /// - Parameters:
    ///   - peer: the name of the peer.
    ///   - groups: as returned by ``pendingGroups(for:)`` in the same transaction.
    ///   - sequence: return only operations after this place in the queue; 0 to start at the beginning.
    ///   - limit: the maximum number of operations to return.
    public func pending(
        for peer: PeerID, in groups: [PendingGroup], after sequence: UInt64 = 0, limit: Int = .max
    ) throws -> [PendingOperation] {
        try snapshot.require(limit, 0, "limit")
        return try QueueTable.operations(
            of: peer, in: groups.map(\.section), after: sequence, limit: limit, in: snapshot)
    }

    /// Returns the operation of a sample that waits for a peer.
    public func pending(peer: PeerID, sample: SampleID) throws -> PendingOperation? {
        let snapshot = snapshot
        guard let place = try QueueTable.place(of: sample, in: peer, in: snapshot) else { return nil }
        return try PeerTables.record(
            PeerKey.pending(peer, place.section, place.sequence, snapshot.header.hashKey), as: PendingOperation.self,
            in: snapshot)
    }

    /// Returns the operations of a sample that wait, for every peer.
    package func pending(sample: SampleID) throws -> [PendingOperation] {
        try QueueTable.directories(in: snapshot).compactMap { try pending(peer: $0.peer, sample: sample) }
    }

    /// Returns the operation with an id; `nil` if it is no longer queued.
    public func pending(id: String) throws -> PendingOperation? {
        guard let mark = id.lastIndex(of: "#"), let sequence = UInt64(id[id.index(after: mark)...]), sequence > 0 else {
            return nil
        }
        let (snapshot, peer) = (snapshot, PeerID(String(id[..<mark])))
        for section in try QueueTable.directory(of: peer, in: snapshot).sections {
            let found = try QueueTable.operations(
                of: peer, in: [section.number], after: sequence - 1, limit: 1, in: snapshot)
            if let operation = found.first, operation.sequence == sequence { return operation }
        }
        return nil
    }

    /// Returns the operations that wait for a peer as groups by type, state and reason. The cost does not depend on the
    /// number of operations.
    public func pendingGroups(for peer: PeerID) throws -> [PendingGroup] {
        let snapshot = snapshot
        return try QueueTable.directory(of: peer, in: snapshot).sections.map { section in
            PendingGroup(
                type: section.type == 0 ? nil : try NameTable.type(section.type, in: snapshot), state: section.state,
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
    public func pendingCounts(for peer: PeerID) throws -> PendingCounts {
        PendingCounts(groups: try pendingGroups(for: peer))
    }
}
