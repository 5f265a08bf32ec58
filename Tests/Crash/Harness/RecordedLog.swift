/// The log of the preloaded recorder (shim/record.c): calls on files, in order.
struct RecordedLog {
    struct Damaged: Error, CustomStringConvertible {
        let description: String
    }

    enum Kind: UInt32 {
        case opened = 1
        case wrote, wroteSynced, truncated, synced, marked, named, unnamed, folderSynced
    }

    struct Record {
        var kind: Kind
        var file: UInt64
        var offset: Int
        var bytes: ArraySlice<UInt8>
        var length: Int
    }

    private(set) var records: [Record] = []
    private static let magic: UInt32 = 0x4C4F_4748
    private static let headerBytes = 32

    init(path: String) throws {
        let bytes = try RawFile.bytes(of: path)
        var place = 0
        while place < bytes.count {
            guard place + RecordedLog.headerBytes <= bytes.count else { throw Damaged(description: "cut in a header") }
            func word(_ offset: Int, _ width: Int) -> UInt64 {
                (0..<width).reduce(0) { $0 | UInt64(bytes[place + offset + $1]) << UInt64(8 * $1) }
            }
            guard word(0, 4) == RecordedLog.magic, let kind = Kind(rawValue: UInt32(word(4, 4))) else {
                throw Damaged(description: "no record at byte \(place) of \(path)")
            }
            let length = Int(word(24, 8))
            place += RecordedLog.headerBytes
            let end = place + (kind == .truncated ? 0 : length)
            guard end <= bytes.count else { throw Damaged(description: "cut in a record") }
            records.append(
                Record(
                    kind: kind, file: word(8 - RecordedLog.headerBytes, 8),
                    offset: Int(word(16 - RecordedLog.headerBytes, 8)),
                    bytes: bytes[place..<end], length: length))
            place = end
        }
    }
}

/// The events of one store's data file and journal, together with the lines of what the process acknowledged.
struct Timeline {
    enum Event {
        case write(offset: Int, bytes: ArraySlice<UInt8>, isSynced: Bool)
        case truncate(size: Int)
        case sync
        /// The file has its name from here on, but not durably.
        case named
        /// The name survives a power cut from here on.
        case nameSynced
        case line(JournalLine)
        /// The same of the journal's file.
        indirect case ofJournal(Event)

        var changesDisk: Bool { if case .line = self { false } else { true } }
    }

    private(set) var events: [Event] = []
    private(set) var history = History()

    /// - Parameter path: the data file.
    init(_ log: RecordedLog, path: String) throws {
        func isOf(_ record: RecordedLog.Record, _ kind: RecordedLog.Kind) -> Bool {
            record.kind == kind && String(decoding: record.bytes, as: UTF8.self) == path
        }
        // A file that existed before the run is only opened.
        let found = log.records.last { isOf($0, .named) } ?? log.records.last { isOf($0, .opened) }
        guard let naming = found else { throw RecordedLog.Damaged(description: "the log does not tell of \(path)") }
        let journalPath = String(path.dropLast("mdb".count)) + "journal"
        func isOfJournal(_ record: RecordedLog.Record, _ kind: RecordedLog.Kind) -> Bool {
            record.kind == kind && String(decoding: record.bytes, as: UTF8.self) == journalPath
        }
        let journal = log.records.last { isOfJournal($0, .named) } ?? log.records.last { isOfJournal($0, .opened) }
        var text = ""
        for record in log.records {
            switch record.kind {
            case .marked:
                text += String(decoding: record.bytes, as: UTF8.self)
                while let end = text.firstIndex(of: "\n") {
                    if let line = JournalLine(text[..<end]) {
                        history.read(line)
                        events.append(.line(line))
                    }
                    text = String(text[text.index(after: end)...])
                }
            case .named where isOf(record, .named): events.append(.named)
            case .named where isOfJournal(record, .named): events.append(.ofJournal(.named))
            case .folderSynced where journal.map { $0.kind == .named && record.file == UInt64($0.offset) } ?? false:
                events.append(.ofJournal(.nameSynced))
                if naming.kind == .named && record.file == UInt64(naming.offset) { events.append(.nameSynced) }
            case .folderSynced where naming.kind == .named && record.file == UInt64(naming.offset):
                events.append(.nameSynced)
            default:
                guard let event = Timeline.event(record) else { continue }
                if record.file == naming.file { events.append(event) }
                if let journal, record.file == journal.file { events.append(.ofJournal(event)) }
            }
        }
        history.rewind()
    }

    private static func event(_ record: RecordedLog.Record) -> Event? {
        switch record.kind {
        case .wrote, .wroteSynced:
            .write(offset: record.offset, bytes: record.bytes, isSynced: record.kind == .wroteSynced)
        case .truncated: .truncate(size: record.offset)
        case .synced: .sync
        default: nil
        }
    }
}
