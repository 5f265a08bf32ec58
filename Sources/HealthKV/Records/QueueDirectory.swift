import ColumnFormat
import HealthModel
import LMDB

/// The directory of a peer's queue, by section. It is updated in the transaction that changes the queue, so that
/// operations can be counted, and sections that are not due skipped, without reading the operations.
struct QueueDirectory: SyncRecord, Equatable {
    /// Operations of one type in one state. Parked operations have a section for each reason, because operations with
    /// the same reason become ready together.
    struct Section: Equatable {
        let number: UInt32
        /// The number of the type; 0 if it was not known when the operations were queued.
        let type: UInt32
        let state: PendingOperation.State
        /// `nil` if operations with several reasons share the section.
        let reason: String?
        var count: UInt64
        /// No operation of the section is due before this time.
        var earliest: Instant
    }

    /// Reasons are texts from peers. Long reasons, and reasons beyond this number for one type, share a section.
    private static let reasonsApart = 16
    private static let longestReason = 64

    let peer: PeerID
    private(set) var sections: [Section] = []

    static var table: TableCode { .pending }

    init(peer: PeerID) { self.peer = peer }

    func encode(into record: inout RecordWriter) {
        record.append(peer.rawValue)
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
        peer = try PeerID(record.readText())
        for _ in 0..<(try record.read(UInt32.self)) {
            let (number, type) = (try record.read(UInt32.self), try record.read(UInt32.self))
            guard let state = PendingOperation.State(rawValue: try record.read(UInt8.self)) else {
                throw FormatError(.unknown, "state")
            }
            let section = Section(
                number: number, type: type, state: state, reason: try record.readOptionalText(),
                count: try record.read(UInt64.self), earliest: Instant(nanoseconds: try record.read(Int64.self)))
            // The next section gets the next number; the greatest number is reserved for the places of samples.
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

    /// Removes an operation from the count of a section.
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

/// The position of a sample's operation in a peer's queue. Each sample has at most one.
struct PendingPlace: SyncRecord, Equatable {
    let peer: PeerID
    let sample: SampleID
    let sequence: UInt64
    let section: UInt32

    static var table: TableCode { .pending }

    init(peer: PeerID, sample: SampleID, sequence: UInt64, section: UInt32) {
        self.peer = peer
        self.sample = sample
        self.sequence = sequence
        self.section = section
    }

    func encode(into record: inout RecordWriter) {
        record.append(peer.rawValue)
        record.append(sample)
        record.append(sequence)
        record.append(section)
    }

    init(from record: inout RecordReader) throws {
        peer = try PeerID(record.readText())
        sample = try record.readID()
        sequence = try record.read(UInt64.self)
        section = try record.read(UInt32.self)
    }

    func belongs(under key: [UInt8]) -> Bool { key.count == 36 && key.ends(with: sample) }
}
