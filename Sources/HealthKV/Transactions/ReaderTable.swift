import LMDB

/// The threads of this process that are reading.
struct ReaderTable {
    struct Entry {
        let ticket: ReadTicket
        /// How deeply the thread's reads are nested.
        var depth: Int
    }

    private(set) var entries: [ThreadIdentity: Entry] = [:]
    /// Set while the map is being replaced: new readers wait.
    var isHeld = false

    var isEmpty: Bool { entries.isEmpty }

    func isInside(_ thread: ThreadIdentity) -> Bool { entries[thread] != nil }

    func depth(_ thread: ThreadIdentity) -> Int { entries[thread]?.depth ?? 0 }

    /// Registers a reader. A nested read shares the ticket of the outer one.
    mutating func enter(_ thread: ThreadIdentity, _ limit: Duration?) -> ReadTicket {
        if let known = entries[thread] {
            entries[thread] = Entry(ticket: known.ticket, depth: known.depth + 1)
            return known.ticket
        }
        let ticket = ReadTicket(limit: limit)
        entries[thread] = Entry(ticket: ticket, depth: 1)
        return ticket
    }

    mutating func leave(_ thread: ThreadIdentity) {
        guard let known = entries[thread] else { return }
        entries[thread] = known.depth == 1 ? nil : Entry(ticket: known.ticket, depth: known.depth - 1)
    }
}

/// One read: when it began, how long it may last, whether its length was reported.
final class ReadTicket: Sendable {
    let began = ContinuousClock.now
    private let deadline: ContinuousClock.Instant?
    private let isReported = Monitor(false)

    init(limit: Duration?) { deadline = limit.map { ContinuousClock.now + $0 } }

    var age: Duration { began.duration(to: .now) }

    /// Whether the read has passed its deadline.
    var isExpired: Bool { deadline.map { $0 < ContinuousClock.now } ?? false }

    /// Returns `true` the first time, then `false`.
    func takeReport() -> Bool {
        isReported.withLock { isReported in
            defer { isReported = true }
            return !isReported
        }
    }
}
