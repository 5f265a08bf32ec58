import ColumnFormat
import LMDB

/// A second copy of what only one page would hold: the identity of the store, the key of its hashes, how samples at one
/// time shadow each other, and the ranking of sources. Repair reads it where the table `meta` is lost.
///
/// It need not be new: it is written in the first commit of a session, and when one of these changes.
enum HeaderCopy {
    static let key = [UpkeepKind.headerCopy]

    /// Writes the copy if this commit is the first of a session, or changes what the copy holds.
    static func putIfNeeded(in txn: inout WriteTransaction) throws {
        let isFirst = txn.state.endedSession != nil || txn.commit == 1
        guard isFirst || txn.state.priorities != nil || txn.state.changesShadowing else { return }
        var header = txn.state.header
        // What the copy itself adds to the sum is not known yet.
        header.recordSum = nil
        var record = RecordWriter()
        record.append(header.value)
        record.append(try PriorityTable.storedValue(in: txn))
        try txn.put(.upkeep, key, record.value(table: .upkeep, key: key, stamp: txn.stamp))
    }

    /// Returns the header and the value of the ranking, which is empty if there is none.
    static func read(_ span: RawSpan) throws(FormatError) -> (header: StoreHeader, priorities: [UInt8]) {
        var record = try RecordReader(span, table: .upkeep, key: key)
        let bytes = try record.readBytes()
        let header = try StoreHeader(bytes.rawBytes)
        let priorities = try record.readBytes()
        if !priorities.isEmpty { _ = try PriorityRecord(priorities.rawBytes, key: PriorityTable.key) }
        return (header, priorities)
    }
}
