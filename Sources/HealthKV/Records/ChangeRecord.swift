import ColumnFormat
import HealthModel

/// A position in the change feed.
struct FeedPlace: Sendable, Hashable, Comparable {
    var commit: UInt64
    var ordinal: UInt32

    static func < (one: FeedPlace, other: FeedPlace) -> Bool {
        (one.commit, one.ordinal) < (other.commit, other.ordinal)
    }
}

/// The changes of one commit, or of a range of consecutive commits: where to find the rows they wrote, and what they
/// deleted.
struct ChangeRecord: Sendable {
    /// A sample that left its place: it was deleted, or an edit moved it to another start, type or source.
    struct Deletion: Sendable, Equatable {
        var commit: UInt64
        var ordinal: UInt32
        var id: SampleID
        var type: UInt32

        var place: FeedPlace { FeedPlace(commit: commit, ordinal: ordinal) }
    }

    /// A mass operation, at the place at which it was committed.
    struct Removal: Sendable, Equatable {
        var ordinal: UInt32
        var scope: Intent.Scope
    }

    var commit: UInt64
    /// The time of the commit.
    var time: Int64
    /// A random number that distinguishes this commit from a commit with the same number in a copy of the file.
    var mark: UInt64
    /// The first commit whose record this record replaced; 0 if it replaced none.
    var since: UInt64 = 0
    var spans: [(lane: Lane, starts: ClosedRange<Int64>)] = []
    var deletions: [Deletion] = []
    var removals: [Removal] = []

    /// The commits that the record describes.
    var commits: ClosedRange<UInt64> { (since > 0 ? since : commit)...commit }
    /// The place after the last change of the record.
    var end: FeedPlace { FeedPlace(commit: commit, ordinal: .max) }

    static func key(_ commit: UInt64) -> [UInt8] {
        var writer = ByteWriter(reserving: 8)
        writer.appendBigEndian(commit)
        return writer.bytes
    }

    /// - Parameter writer: the commit that writes the record; the record's own commit unless it is rewritten later.
    func value(writtenIn writer: UInt64? = nil) -> [UInt8] {
        var record = RecordWriter()
        record.append(commit)
        record.append(time)
        record.append(UInt32(spans.count))
        for span in spans {
            record.append(span.lane.type)
            record.append(span.lane.duration.rawValue)
            record.append(span.starts.lowerBound)
            record.append(span.starts.upperBound)
        }
        record.append(UInt32(deletions.count))
        for deletion in deletions {
            record.append(deletion.ordinal)
            record.append(deletion.id)
            record.append(deletion.type)
        }
        record.append(UInt32(removals.count))
        for removal in removals {
            record.append(removal.ordinal)
            removal.scope.append(to: &record)
        }
        record.append(mark)
        record.append(since)
        if deletions.contains(where: { $0.commit != commit }) {
            for deletion in deletions { record.append(deletion.commit) }
        }
        return record.value(table: .changes, key: ChangeRecord.key(commit), commit: writer ?? commit)
    }

    init(commit: UInt64, time: Int64, mark: UInt64) {
        self.commit = commit
        self.time = time
        self.mark = mark
    }

    init(_ span: RawSpan, key: [UInt8]) throws(FormatError) {
        var record = try RecordReader(span, table: .changes, key: key)
        commit = try record.read(UInt64.self)
        // Readers continue after the commit that a record names.
        guard key == ChangeRecord.key(commit) else { throw FormatError(.misplaced, "commit") }
        time = try record.read(Int64.self)
        mark = 0
        for _ in 0..<(try record.read(UInt32.self)) {
            let type = try record.read(UInt32.self)
            guard let duration = DurationClass(rawValue: try record.read(UInt8.self)) else {
                throw FormatError(.unknown, "duration class")
            }
            let from = try record.read(Int64.self)
            let to = try record.read(Int64.self)
            guard from <= to else { throw FormatError(.invalid, "touched span") }
            spans.append((Lane(type: type, duration: duration), from...to))
        }
        for _ in 0..<(try record.read(UInt32.self)) {
            let ordinal = try record.read(UInt32.self)
            let id = try record.readID()
            let type = try record.read(UInt32.self)
            deletions.append(Deletion(commit: commit, ordinal: ordinal, id: id, type: type))
        }
        for _ in 0..<(try record.read(UInt32.self)) {
            let ordinal = try record.read(UInt32.self)
            removals.append(Removal(ordinal: ordinal, scope: try Intent.Scope(&record)))
        }
        // A record written before marks existed ends here.
        if record.isAtEnd { return }
        mark = try record.read(UInt64.self)
        if record.isAtEnd { return }
        since = try record.read(UInt64.self)
        guard since <= commit else { throw FormatError(.invalid, "first commit") }
        if record.isAtEnd { return }
        for index in deletions.indices {
            deletions[index].commit = try record.read(UInt64.self)
            guard commits.contains(deletions[index].commit) else { throw FormatError(.invalid, "commit of a deletion") }
        }
    }
}
