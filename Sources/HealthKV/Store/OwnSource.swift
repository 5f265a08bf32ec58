import ColumnFormat
import HealthModel
import LMDB

/// The source under which the app that keeps the store writes. It belongs to the store, not to the handle. An
/// extension, or a part of the app that opens the store without a source, writes under the app's source, so that edits
/// of either are sent to peers.
enum OwnSource {
    private static let key: [UInt8] = Array("own".utf8)
    /// The source while no app has named itself.
    static let unnamed = Source(bundle: "", name: "HealthKV")

    static func read(_ view: View, _ tables: OpenTables) throws -> Source? {
        guard let span = try view.get(tables[.meta], key) else { return nil }
        var record = try RecordReader(span, table: .meta, key: key)
        return Source(
            bundle: try record.readText(), name: try record.readText(), version: try record.readOptionalText(),
            product: try record.readOptionalText(), system: try record.readOptionalText())
    }

    private static func put(_ source: Source, in transaction: inout WriteTransaction) throws {
        var record = RecordWriter()
        record.append(source.bundle)
        record.append(source.name)
        record.append(source.version)
        record.append(source.product)
        record.append(source.system)
        let value = record.value(table: .meta, key: key, stamp: transaction.stamp)
        try transaction.put(.meta, key, value)
    }
}

extension OwnSource {
    /// Returns the source to write under for a handle that was opened as `source`.
    static func source(ofHandle source: Source, in txn: borrowing WriteTransaction) throws -> Source {
        guard source == .thisApp else { return source }
        return try OwnSource.read(txn.lmdb.view, txn.context.tables) ?? OwnSource.unnamed
    }

    /// Stores the writer's source, if it is named and this transaction changes anything. An extension that wrote first
    /// gives way to its app.
    static func note(in txn: inout WriteTransaction) throws {
        let source = txn.environment.source
        guard txn.state.isChanged, !source.bundle.isEmpty else { return }
        let known = try OwnSource.read(txn.lmdb.view, txn.context.tables)
        guard known != source else { return }
        if let known, known.identity != source.identity, !known.identity.isExtension(of: source.identity) { return }
        try OwnSource.put(source, in: &txn)
    }
}
