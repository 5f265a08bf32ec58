import ColumnFormat
import HealthModel
import LMDB

/// What a peer's queue holds, by section, and kept in the transaction that changes the queue: so that what waits is counted, and what need not be
/// tried passed by, without a look at the operations.
struct QueueDirectory: SyncRecord, Equatable {
    /// Operations of one type in one state. Parked ones stand apart by reason, since reasons end together.
    struct Section: Equatable {
        let number: UInt32
        /// The type's number; 0 where it was not known when the operations came.
        let type: UInt32
        let state: PendingOperation.State
        /// `nil` where operations of several reasons stand together.
        let reason: String?
        var count: UInt64
        /// No operation is to be tried before this.
        var earliest: Instant
    }

    /// Reasons come from peers. More than these of one type, and longer ones, stand together.
    private static let reasonsApart = 16
    private static let longestReason = 64

    let peer: String
    private(set) var sections: [Section] = []

    static var table: TableCode { .pending }

    init(peer: String) { self.peer = peer }

    func encode(into record: inout RecordWriter) {
        record.append(peer)
        record.append(UInt32(sections.count))
        for section in sections {
            record.append(section.number)
            record.append(section.type)
            record.append(section.state.rawValue)
            record.append(section.reason)
            record.append(section.count)
            record.append(section.earliest.nanoseconds)
        }
    }

    init(from record: inout RecordReader) throws {
        peer = try record.readText()
        for _ in 0..<(try record.read(UInt32.self)) {
            let (number, type) = (try record.read(UInt32.self), try record.read(UInt32.self))
            guard let state = PendingOperation.State(rawValue: try record.read(UInt8.self)) else {
                throw FormatError(.unknown, "state")
            }
            let section = Section(
                number: number, type: type, state: state, reason: try record.readOptionalText(),
                count: try record.read(UInt64.self), earliest: Instant(nanoseconds: try record.read(Int64.self)))
            // The next section gets the next number; the greatest stands before the places of samples.
            guard number > 0, number < .max - 1, section.count < 1 << 62 else {
                throw FormatError(.invalid, "section of a queue")
            }
            sections.append(section)
        }
    }

    subscript(_ number: UInt32) -> Section? { sections.first { $0.number == number } }

    /// Adds an operation, and returns the number of its section.
    mutating func add(_ operation: PendingOperation, type: UInt32) -> UInt32 {
        let index = place(of: operation, type)
        sections[index].count += 1
        sections[index].earliest = min(sections[index].earliest, operation.nextTry)
        return sections[index].number
    }

    private mutating func place(of operation: PendingOperation, _ type: UInt32) -> Int {
        var reason: String?
        if operation.state == .parked, operation.reason.utf8.count <= QueueDirectory.longestReason {
            let known = sections.filter { $0.type == type && $0.state == .parked && $0.reason != nil }
            let isApart = known.contains { $0.reason == operation.reason } || known.count < QueueDirectory.reasonsApart
            if isApart { reason = operation.reason }
        }
        let known = sections.firstIndex { ($0.type, $0.state, $0.reason) == (type, operation.state, reason) }
        if let known { return known }
        let number = (sections.map(\.number).max() ?? 0) + 1
        sections.append(
            Section(
                number: number, type: type, state: operation.state, reason: reason, count: 0,
                earliest: operation.nextTry))
        return sections.count - 1
    }

    /// Takes an operation out of a section.
    mutating func remove(from number: UInt32) {
        guard let index = sections.firstIndex(where: { $0.number == number }) else { return }
        if sections[index].count <= 1 {
            sections.remove(at: index)
        } else {
            sections[index].count -= 1
        }
    }

    mutating func set(earliest: Instant, of number: UInt32) {
        guard let index = sections.firstIndex(where: { $0.number == number }) else { return }
        sections[index].earliest = earliest
    }
}

/// Where the operation of a sample stands in a peer's queue: there is one at most for each.
struct PendingPlace: SyncRecord, Equatable {
    let peer: String
    let sample: SampleID
    let sequence: UInt64
    let section: UInt32

    static var table: TableCode { .pending }

    init(peer: String, sample: SampleID, sequence: UInt64, section: UInt32) {
        self.peer = peer
        self.sample = sample
        self.sequence = sequence
        self.section = section
    }

    func encode(into record: inout RecordWriter) {
        record.append(peer)
        record.append(sample)
        record.append(sequence)
        record.append(section)
    }

    init(from record: inout RecordReader) throws {
        peer = try record.readText()
        sample = try record.readID()
        sequence = try record.read(UInt64.self)
        section = try record.read(UInt32.self)
    }

    func belongs(under key: [UInt8]) -> Bool { key.count == 36 && key.ends(with: sample) }
}

extension Snapshot {
    /// What a peer's queue holds; a writer's own changes are in the context until it commits.
    func directory(of peer: String) throws -> QueueDirectory {
        if let changed = context.directories[peer] { return changed }
        return try record(PeerKey.directory(peer, header.hashKey), as: QueueDirectory.self)
            ?? QueueDirectory(peer: peer)
    }

    /// The queues of all peers that have one, by the names of the peers.
    func directories() throws -> [QueueDirectory] {
        var known = context.directories
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

    /// Some operations of some sections of a queue behind a place, in the order of the queue.
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

    /// The type of a sample that lives or was deleted; 0 where it is not known.
    fileprivate func typeNumber(of sample: SampleID) throws -> UInt32 {
        if let found = try find(sample) { return found.lane.type }
        return try tombstone(sample)?.type ?? 0
    }
}

extension SampleReading where Self: ~Copyable {
    /// Operations that wait for all peers, or for one, in the order of their queues.
    public func pending(for peer: String? = nil) throws -> [PendingOperation] {
        let snapshot = snapshot
        let directories = try peer.map { [try snapshot.directory(of: $0)] } ?? snapshot.directories()
        var operations: [PendingOperation] = []
        for directory in directories {
            operations += try snapshot.operations(of: directory.peer, in: directory.sections.map(\.number))
        }
        return operations
    }

    /// Some operations that wait for a peer, behind a place of its queue.
    public func pending(for peer: String, after sequence: UInt64, limit: Int) throws -> [PendingOperation] {
        let snapshot = snapshot
        try snapshot.require(limit, 0, "limit")
        let sections = try snapshot.directory(of: peer).sections.map(\.number)
        return try snapshot.operations(of: peer, in: sections, after: sequence, limit: limit)
    }

    /// Some operations of groups of a peer's queue, behind a place of it.
    ///
    /// - Parameter groups: as ``pendingGroups(for:)`` gave them in the same transaction.
    public func pending(
        for peer: String, in groups: [PendingGroup], after sequence: UInt64 = 0, limit: Int = .max
    ) throws -> [PendingOperation] {
        try snapshot.require(limit, 0, "limit")
        return try snapshot.operations(of: peer, in: groups.map(\.section), after: sequence, limit: limit)
    }

    /// The operation of a sample that waits for a peer.
    public func pending(peer: String, sample: SampleID) throws -> PendingOperation? {
        let snapshot = snapshot
        guard let place = try snapshot.place(of: sample, in: peer) else { return nil }
        return try snapshot.record(
            PeerKey.pending(peer, place.section, place.sequence, snapshot.header.hashKey), as: PendingOperation.self)
    }

    /// The operation with an id; `nil` when it is no longer there.
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

    /// What waits for a peer, by type, state and reason. It costs the same however much waits.
    public func pendingGroups(for peer: String) throws -> [PendingGroup] {
        let snapshot = snapshot
        return try snapshot.directory(of: peer).sections.map { section in
            PendingGroup(
                type: section.type == 0 ? nil : try snapshot.type(section.type), state: section.state,
                reason: section.reason, count: Int(clamping: section.count), earliest: section.earliest,
                section: section.number)
        }
    }

    /// How many operations wait for a peer, by state and type. It costs the same however much waits.
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
    /// Puts an operation at the end of its peer's queue, in place of any that waits for the same sample, and gives it its
    /// place. A place is never given twice, so that what is known of an operation that is done cannot meet another one.
    ///
    /// - Parameter type: the type of the sample; where it is not given the store looks for it.
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

    /// Stores attempts, next try, state and reason of a queued operation. One that is in the queue no longer stays out of it.
    public mutating func updatePending(_ operation: PendingOperation) throws {
        guard let place = try snapshot.place(of: operation.sample, in: operation.peer),
            place.sequence == operation.sequence,
            let section = try snapshot.directory(of: operation.peer)[place.section]
        else { return }
        try remove(place)
        try insert(operation, section.type)
    }

    /// Takes an operation out of its queue, because it is done or given up.
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
        context.directories[peer] = directory
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
        context.directories[peer] = directory
        try raiseEarliest(of: peer, place.section, limit: WriteTransaction.lookedThrough)
    }

    /// The earliest next try of a section with at most as many operations as this is always exact.
    private static let lookedThrough: UInt64 = 64

    /// Makes the times exact before which nothing of a peer's queue is to be tried. They are never too late, but those of long queues are too early
    /// once the operations that they were about are done.
    public mutating func settleNextTries(of peer: String, at now: Instant) throws {
        for section in try snapshot.directory(of: peer).sections
        where section.state != .quarantined && section.earliest <= now {
            try raiseEarliest(of: peer, section.number, to: now)
        }
    }

    /// Sets the earliest next try of a section to that of its operations. It looks no further than an operation that shows that it need not be
    /// raised, at `now` or at all, and at no section with more operations than the limit.
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
        context.directories[peer] = directory
        state.isChanged = true
    }

    /// Stores what the queues hold that this transaction changed.
    mutating func putDirectories() throws {
        let hashKey = state.header.hashKey
        for (peer, directory) in context.directories.sorted(by: { $0.key < $1.key }) {
            let key = PeerKey.directory(peer, hashKey)
            if directory.sections.isEmpty {
                try forget(key, as: QueueDirectory.self)
            } else {
                try put(directory, key)
            }
        }
        context.directories = [:]
    }

    /// Puts every operation that can be found back into its queue: counts and places are rebuilt.
    mutating func rebuildQueues() throws {
        let operations = try snapshot.allOperations()
        context.directories = [:]
        try clear(.pending)
        for operation in operations { try insert(operation, snapshot.typeNumber(of: operation.sample)) }
    }
}

extension Snapshot {
    /// Every operation of the table, whatever the directories say. Of two of one sample the later stands.
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
