import ColumnFormat
import LMDB

/// The record of which sessions wrote which commits.
///
/// The first commit of a session adds the session before it, with its last commit. So the record tells a commit that
/// happened from one of the same number that was killed: the search of a damaged file needs that where no tree decides.
enum SessionTable {
    static let key = [UpkeepKind.sessions]

    /// The number of sessions that the record names. What older ones left behind has mostly been overwritten, and a
    /// store that is opened often must not grow by it.
    private static let limit = 64

    /// Notes that the session of `last` ended with that commit.
    static func end(_ last: CommitStamp, in txn: inout WriteTransaction) throws {
        let known = try read(txn.snapshot.view, txn.context.tables)
        try txn.put(.upkeep, key, value(adding: last, to: known, stamp: txn.stamp))
    }

    /// Returns the record after one more session has ended.
    static func value(adding last: CommitStamp, to ended: [CommitStamp], stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        for session in ended.suffix(limit - 1) + [last] {
            record.append(session.session)
            record.append(session.commit)
        }
        return record.value(table: .upkeep, key: key, stamp: stamp)
    }

    /// Returns the last commits of earlier sessions, in order; none if the record is damaged, because it may be begun
    /// again at any time.
    static func read(_ view: View, _ tables: OpenTables) throws -> [CommitStamp] {
        guard let span = try view.get(tables[.upkeep], key) else { return [] }
        return (try? ended(span)) ?? []
    }

    /// Returns the last commits of the sessions in a record.
    static func ended(_ span: RawSpan) throws(FormatError) -> [CommitStamp] {
        var record = try RecordReader(span, table: .upkeep, key: key)
        var ended: [CommitStamp] = []
        while !record.isAtEnd {
            let session = try record.read(UInt32.self)
            let last = CommitStamp(commit: try record.read(UInt64.self), session: session)
            guard ended.last.map({ $0.commit < last.commit }) ?? true, last.commit < 1 << 62 else {
                throw FormatError(.invalid, "last commit of a session")
            }
            ended.append(last)
        }
        return ended
    }
}
