import ColumnFormat
import HealthModel
import LMDB

/// Records the types and sources of which samples were purged, that is, left the store without being deleted. These
/// records are kept forever, because it cannot be determined later whether an unknown sample was among the purged ones.
enum PurgedSamples {
    static let prefix = Array("purged".utf8)

    static func key(_ type: UInt32, _ source: UInt32) -> [UInt8] {
        var writer = ByteWriter(reserving: 14)
        writer.bytes = prefix
        writer.appendBigEndian(type)
        writer.appendBigEndian(source)
        return writer.bytes
    }

    /// Returns the numbers of the type and the source in a key; `nil` for another key.
    static func numbers(in key: [UInt8]) -> (type: UInt32, source: UInt32)? {
        guard key.starts(with: prefix), key.count == prefix.count + 8 else { return nil }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
        let numbers = key.dropFirst(prefix.count)
        return (number(numbers.prefix(4)), number(numbers.suffix(4)))
    }
}

extension PurgedSamples {
    /// Records that samples of a type and source leave without being deleted.
    static func note(_ type: UInt32, _ source: UInt32, in txn: inout WriteTransaction) throws {
        let key = PurgedSamples.key(type, source)
        guard try txn.snapshot.view.get(txn.context.tables[.meta], key) == nil else { return }
        try txn.put(.meta, key, RecordWriter().value(table: .meta, key: key, stamp: txn.stamp))
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns `true` if samples of a type and source were ever purged here. A sample of these that is unknown here has
    /// not necessarily been deleted.
    public func hasPurged(_ type: SampleType, of source: SourceIdentity) throws -> Bool {
        let snapshot = snapshot
        guard let type = try NameTable.number(of: type, in: snapshot),
            let source = try NameTable.number(of: source, in: snapshot)
        else {
            return false
        }
        return try snapshot.view.get(snapshot.tables[.meta], PurgedSamples.key(type, source)) != nil
    }

    /// Calls `body` with each type and source of which samples were ever purged here.
    public func forEachPurged(_ body: (SampleType, SourceIdentity) throws -> Void) throws {
        let snapshot = snapshot
        var cursor = try snapshot.view.cursor(snapshot.tables[.meta])
        var found = try cursor.seek(PurgedSamples.prefix)
        while found {
            let key = cursor.key.copied()
            guard let (type, source) = PurgedSamples.numbers(in: key) else { return }
            try body(NameTable.type(type, in: snapshot), NameTable.source(source, in: snapshot))
            found = try cursor.next()
        }
    }
}
