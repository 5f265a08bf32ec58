import ColumnFormat
import HealthModel
import LMDB

/// Records the types and sources of which samples were purged, that is, left the store without being deleted. These
/// records are kept forever, because it cannot be determined later whether an unknown sample was among the purged ones.
/// Each names the latest start of these samples: a later sample was not among them.
enum PurgedSamples {
    static let prefix = Array("purged".utf8)

    /// The latest start of purged samples; `nil` if it is not known.
    fileprivate struct Latest { var start: Int64? }

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
    ///
    /// - Parameter latest: the latest of their starts; `nil` if it is not known.
    static func note(_ type: UInt32, _ source: UInt32, latest: Int64?, in txn: inout WriteTransaction) throws {
        let key = PurgedSamples.key(type, source)
        // A sample of the distant future must not hide all others.
        var latest = latest.map { min($0, txn.environment.now().nanoseconds) }
        if let known = try PurgedSamples.latest(key, in: txn.snapshot) {
            // What is not known once is not known any more.
            guard let known = known.start, latest.map({ $0 > known }) ?? true else { return }
            latest = latest.map { max($0, known) }
        }
        var record = RecordWriter()
        if let latest { record.append(latest) }
        try txn.put(.meta, key, record.value(table: .meta, key: key, stamp: txn.stamp))
    }

    /// Returns the latest start of the samples that a record is of; `nil` if there is no record.
    fileprivate static func latest(_ key: [UInt8], in snapshot: Snapshot) throws -> Latest? {
        guard let span = try snapshot.view.get(snapshot.tables[.meta], key) else { return nil }
        var record = try RecordReader(span, table: .meta, key: key)
        return Latest(start: record.isAtEnd ? nil : try record.read(Int64.self))
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns `true` if samples of a type and source were ever purged here. A sample of these that is unknown here has
    /// not necessarily been deleted.
    public func hasPurged(_ type: SampleType, of source: SourceIdentity) throws -> Bool {
        try mayHavePurged(type, of: source, start: .distantPast)
    }

    /// Returns `true` if samples of a type and source were purged here that may have started at a time or later.
    package func mayHavePurged(_ type: SampleType, of source: SourceIdentity, start: Instant) throws -> Bool {
        let snapshot = snapshot
        guard let type = try NameTable.number(of: type, in: snapshot),
            let source = try NameTable.number(of: source, in: snapshot),
            let known = try PurgedSamples.latest(PurgedSamples.key(type, source), in: snapshot)
        else {
            return false
        }
        return known.start.map { $0 >= start.nanoseconds } ?? true
    }

    /// Calls `body` with each type and source of which samples were ever purged here, and the latest start of these
    /// samples if it is known.
    public func forEachPurged(_ body: (SampleType, SourceIdentity, Instant?) throws -> Void) throws {
        let snapshot = snapshot
        var cursor = try snapshot.view.cursor(snapshot.tables[.meta])
        var found = try cursor.seek(PurgedSamples.prefix)
        while found {
            let key = cursor.key.copied()
            guard let (type, source) = PurgedSamples.numbers(in: key) else { return }
            let start = try PurgedSamples.latest(key, in: snapshot)?.start
            try body(
                NameTable.type(type, in: snapshot), NameTable.source(source, in: snapshot),
                start.map { Instant(nanoseconds: $0) })
            found = try cursor.next()
        }
    }
}
