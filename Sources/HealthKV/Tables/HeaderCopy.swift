import ColumnFormat
import LMDB

/// A second copy of what only one page would hold: the identity of the store, the key of its hashes, how samples at one
/// time shadow each other, the ranking of sources, and the definitions of types. Repair reads it where the table `meta`
/// is lost.
///
/// It need not be new: it is written in the first commit of a session, and when one of these changes.
enum HeaderCopy {
    static let key = [UpkeepKind.headerCopy]

    /// Writes the copy if this commit is the first of a session, or changes what the copy holds.
    static func putIfNeeded(in txn: inout WriteTransaction) throws {
        let isFirst = txn.state.endedSession != nil || txn.commit == 1
        guard isFirst || txn.state.priorities != nil || txn.state.changesShadowing || txn.state.changesDefinitions
        else {
            return
        }
        var header = txn.state.header
        // What the copy itself adds to the sum is not known yet.
        header.recordSum = nil
        var record = RecordWriter()
        record.append(header.value)
        record.append(try PriorityTable.storedValue(in: txn))
        if !txn.state.definitions.isEmpty { record.append(DefinitionTable.fields(txn.state.definitions)) }
        try txn.put(.upkeep, key, record.value(table: .upkeep, key: key, stamp: txn.stamp))
    }

    /// What the copy holds.
    struct Content {
        var header: StoreHeader
        /// The value of the ranking; empty if there is none.
        var priorities: [UInt8]
        /// The fields of the definitions; empty if there are none.
        var definitions: [UInt8] = []
    }

    static func read(_ span: RawSpan) throws(FormatError) -> Content {
        var record = try RecordReader(span, table: .upkeep, key: key)
        let bytes = try record.readBytes()
        var content = Content(header: try StoreHeader(bytes.rawBytes), priorities: try record.readBytes())
        if !content.priorities.isEmpty { _ = try PriorityRecord(content.priorities.rawBytes, key: PriorityTable.key) }
        // Who needs the definitions reads their fields: they must not take the rest along.
        if !record.isAtEnd { content.definitions = try record.readBytes() }
        return content
    }
}
