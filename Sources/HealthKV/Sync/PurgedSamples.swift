import ColumnFormat
import HealthModel
import LMDB

/// Of which types and sources samples were purged: they left the store without being deleted. It is kept for good, since nobody can tell
/// later of an unknown sample that it was not among them.
private enum PurgedSamples {
    static func key(_ type: UInt32, _ source: UInt32) -> [UInt8] {
        var writer = ByteWriter(reserving: 14)
        writer.bytes = Array("purged".utf8)
        writer.appendBigEndian(type)
        writer.appendBigEndian(source)
        return writer.bytes
    }
}

extension SampleReading where Self: ~Copyable {
    /// Whether samples of a type and source were ever purged here. What is unknown of those need not have been deleted.
    public func hasPurged(_ type: SampleType, of source: SourceIdentity) throws -> Bool {
        let snapshot = snapshot
        guard let type = try snapshot.number(of: type), let source = try snapshot.number(of: source) else {
            return false
        }
        return try snapshot.view.get(snapshot.tables[.meta], PurgedSamples.key(type, source)) != nil
    }
}

extension WriteTransaction {
    /// Notes that samples of a type and source leave without being deleted.
    mutating func notePurged(_ type: UInt32, _ source: UInt32) throws {
        let key = PurgedSamples.key(type, source)
        guard try snapshot.view.get(context.tables[.meta], key) == nil else { return }
        try put(.meta, key, RecordWriter().value(table: .meta, key: key, commit: commit))
    }
}
