import ColumnFormat
import HealthModel
import LMDB

/// The one record that every commit rewrites: the identity and the current state of the store.
///
/// It holds LMDB's transaction id, because LMDB's own meta pages carry no checksum: opening compares the two.
struct StoreHeader: Sendable, Equatable {
    static let key: [UInt8] = Array("header".utf8)
    static let formatVersion = UInt32(FormatVersion.current)
    /// Replaces the format version once another file has taken the place of this one.
    private static let retired: UInt32 = .max

    /// Never changes, not even in copies.
    var storeID: SampleID
    /// Distinguishes this copy's clocks from those of other copies.
    var replica: UInt32
    /// Changes when the store is restored or repaired, so that old tokens are recognized.
    var epoch: UInt32 = 1
    /// The store's own commit counter: LMDB's transaction id restarts at 1 in a compacted copy.
    var commit: UInt64 = 0
    /// LMDB's transaction id of the commit that wrote this record.
    var transaction: UInt64 = 0
    /// The hybrid logical clock: no later change may be stamped earlier.
    var clock: Int64 = .min
    /// The key of the identity index's hash.
    var hashKey: KeyedHash
    /// Entries in the recent part of the identity index.
    var recentEntries: UInt32 = 0
    /// The number of unfinished mass operations.
    var intents: UInt32 = 0
    /// Tombstones of this and earlier commits may be gone: older tokens have expired.
    var prunedCommit: UInt64 = 0
    /// When tombstones were last pruned, by the clock.
    var prunedAt: Int64 = 0
    /// The time that the last pruning believed it to be: behind ``prunedAt`` after the clock jumped ahead.
    var believedTime: Int64 = 0
    /// The types whose shadowing of duplicates at one time differs from the catalog.
    var shadowing: [UInt32: Bool] = [:]
    /// The sum over the short records; `nil` until it is counted, such as in a repaired file.
    var recordSum: UInt64? = 0
    /// The mark of the newest change record; 0 while there is none.
    var mark: UInt64 = 0
    /// The mark of the definitions of types; 0 without any. The record ends before it then.
    var definitions: UInt64 = 0
    /// The session of the last commit. The record does not hold it: its value names it, as every value does.
    var session: UInt32

    /// What the values of the last commit bear.
    var stamp: CommitStamp { CommitStamp(commit: commit, session: session) }

    var value: [UInt8] {
        var record = RecordWriter()
        record.append(StoreHeader.formatVersion)
        record.append(storeID)
        record.append(replica)
        record.append(epoch)
        record.append(commit)
        record.append(transaction)
        record.append(clock)
        record.append(hashKey.key0)
        record.append(hashKey.key1)
        record.append(recentEntries)
        record.append(intents)
        record.append(prunedCommit)
        record.append(prunedAt)
        record.append(UInt32(shadowing.count))
        for (type, shadows) in shadowing.sorted(by: { $0.key < $1.key }) {
            record.append(type)
            record.append(shadows ? 1 : 0 as UInt8)
        }
        record.append(recordSum ?? 0)
        record.append(recordSum == nil ? 0 : 1 as UInt8)
        record.append(mark)
        record.append(believedTime)
        if definitions != 0 { record.append(definitions) }
        return record.value(table: .meta, key: StoreHeader.key, stamp: stamp)
    }

    /// Commits form the upper half of places in queues, so they must have fewer bits than a word.
    private static let countLimit: UInt64 = 1 << 62

    /// The position after the last commit.
    var token: ChangeToken { ChangeToken(store: storeID, epoch: epoch, commit: commit, ordinal: .max, mark: mark) }

    init(drawing draw: @escaping () -> UInt64 = { .random(in: 0 ... .max) }) {
        var generator = Draw(draw: draw)
        storeID = SampleID(using: &generator)
        replica = StoreHeader.replica(draw)
        hashKey = KeyedHash(key0: draw(), key1: draw())
        session = CommitStamp.drawSession(draw)
    }

    /// Draws a replica number that no other copy of the store has.
    private static func replica(_ draw: () -> UInt64) -> UInt32 { max(1, UInt32(truncatingIfNeeded: draw())) }

    init(_ span: RawSpan) throws(FormatError) {
        session = StoredValue.stamp(head: span).session
        var record = try RecordReader(span, table: .meta, key: StoreHeader.key)
        let version = try record.read(UInt32.self)
        guard version == StoreHeader.formatVersion else {
            throw FormatError(ofVersion: version, current: StoreHeader.formatVersion, "format version of the store")
        }
        storeID = try record.readID()
        replica = try record.read(UInt32.self)
        epoch = try record.read(UInt32.self)
        commit = try record.read(UInt64.self)
        transaction = try record.read(UInt64.self)
        clock = try record.read(Int64.self)
        hashKey = KeyedHash(key0: try record.read(UInt64.self), key1: try record.read(UInt64.self))
        recentEntries = try record.read(UInt32.self)
        intents = try record.read(UInt32.self)
        prunedCommit = try record.read(UInt64.self)
        prunedAt = try record.read(Int64.self)
        for _ in 0..<(try record.read(UInt32.self)) {
            let type = try record.read(UInt32.self)
            shadowing[type] = try record.read(UInt8.self) != 0
        }
        // These numbers are incremented from here on, so none may be close to its maximum.
        guard commit < StoreHeader.countLimit, transaction < StoreHeader.countLimit, recentEntries < 1 << 31,
            intents < 1 << 31, prunedCommit < StoreHeader.countLimit
        else { throw FormatError(.invalid, "header of the store") }
        recordSum = try record.read(UInt64.self)
        if try record.read(UInt8.self) == 0 { recordSum = nil }
        mark = try record.read(UInt64.self)
        believedTime = try record.read(Int64.self)
        if !record.isAtEnd { definitions = try record.read(UInt64.self) }
    }

    /// Returns why a header cannot be read, if another release wrote it; `nil` for any other bytes.
    static func otherFormat(_ span: RawSpan) -> FormatError? {
        do throws(FormatError) {
            var record = try RecordReader(span, table: .meta, key: key)
            if try record.read(UInt32.self) == retired { return nil }
            _ = try StoreHeader(span)
            return nil
        } catch {
            return error.isOfNewerRelease || error.code == .older ? error : nil
        }
    }

    /// Turns the file into another replica with a new epoch. Then its writes are not taken for writes of the original,
    /// or for those that this file held before it was restored.
    mutating func beginEpoch(at now: Instant, drawing draw: () -> UInt64) {
        replica = StoreHeader.replica(draw)
        // Not the next number: two copies of one file would both take it.
        epoch &+= 1 + UInt32(truncatingIfNeeded: draw()) >> 12
        clock = max(clock &+ 1, now.nanoseconds)
    }

    /// Returns a header that marks the file as retired: processes that still have it open must look for the new file.
    static func retiredValue(stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(retired)
        return record.value(table: .meta, key: key, stamp: stamp)
    }

    /// Returns `true` if another file has taken the place of the one that the view sees.
    static func isRetired(_ view: View, _ tables: OpenTables) throws -> Bool {
        guard let span = try view.get(tables[.meta], key) else { return false }
        var record = try RecordReader(span, table: .meta, key: key)
        return try record.read(UInt32.self) == retired
    }

    /// Reads the header in a view. The transaction that the view sees must have written it; this is not checked here.
    static func read(_ view: View, _ tables: OpenTables) throws -> StoreHeader {
        guard let span = try view.get(tables[.meta], key) else { throw FormatError(.truncated, "header of the store") }
        return try StoreHeader(span)
    }
}

private struct Draw: RandomNumberGenerator {
    let draw: () -> UInt64

    mutating func next() -> UInt64 { draw() }
}
