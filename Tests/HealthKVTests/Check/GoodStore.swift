import ColumnFormat
import LMDB
import TestSupport

@testable import HealthKV

/// A small store in which every table that a check looks at holds something.
enum GoodStore {
    /// A sample of a shadowing type that is alone at its time, with a link and a place in a queue.
    static let lonely = SampleID()
    /// Two samples of that type at one time.
    static let pair = (SampleID(), SampleID())
    /// The source of these three, and of no other.
    static let scale = Source(bundle: "org.example.scale", name: "Scale")

    static var options: SampleStore.Options {
        var options = tightOptions()
        options.limits.thinSamples = 4
        options.limits.recentLinks = 20
        options.idlePeriod = .zero
        return options
    }

    /// Fills a store. It is as if at work: some entries of the index are merged into runs and some are recent, some
    /// hours are summed up and some are stale.
    static func fill(_ store: SampleStore) throws {
        var random = SeededGenerator(seed: 1)
        for part in 0..<3 {
            var batch = SampleBatch()
            for row in 0..<500 {
                let value = Double(random.number(0..<1 << 40)) / 7
                batch.append(Sample(.stepCount, value, .count, at: .day(part, row * 30 + random.number(0..<20))))
            }
            let rows = batch
            try store.write { _ = try $0.importBatch(rows) }
        }
        try store.write { txn in try linkSteps(&txn) }
        while try store.maintain() {}
        try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(1), source: scale, id: lonely))
        try store.save(Sample(.bodyMass, 71, .kilogram, at: .day(2), source: scale, id: pair.0))
        try store.save(Sample(.bodyMass, 72, .kilogram, at: .day(2), source: scale, id: pair.1))
        let deleted = Sample(.stepCount, 1, .count, at: .day(400))
        try store.save(deleted)
        try store.write { try $0.delete(id: deleted.id) }
        try store.write { txn in
            try txn.enqueue(PendingOperation(peer: "p", kind: .save, sample: lonely, version: 1))
            try txn.enqueue(PendingOperation(peer: "q", kind: .save, sample: lonely, version: 1))
            try txn.setLink(PeerLink(peer: "p", sample: lonely, idAtPeer: SampleID(), version: 1))
            // Longer than a page, so that it has pages of its own.
            try txn.setAnchor(
                Anchor(
                    peer: "p", type: .stepCount, token: (0..<6_000).map { UInt8(truncatingIfNeeded: $0) }, time: .day(1)
                ))
        }
    }

    /// Packed links of the peer `r`.
    static let links = 300

    /// Links samples of the last day.
    private static func linkSteps(_ txn: inout HealthKV.WriteTransaction) throws {
        var left = links
        for sample in try txn.samples(of: .stepCount, from: .day(2), to: .day(3)) where left > 0 {
            try txn.setLink(PeerLink(peer: "r", sample: sample.id, idAtPeer: SampleID(), version: 1))
            left -= 1
        }
    }

    /// The first chunk of steps, with its rows.
    static func firstChunk(_ snapshot: borrowing Snapshot) throws -> LoadedChunk {
        try ChunkTable.load(
            Lane(type: NameTable.number(of: .stepCount, in: snapshot)!, duration: .hour), .least, in: snapshot)
    }

    /// The value under a key of a table.
    static func value(_ snapshot: borrowing Snapshot, _ table: TableCode, _ key: [UInt8]) throws -> [UInt8] {
        guard let span = try snapshot.view.get(snapshot.tables[table], key) else { throw Refusal() }
        return span.copied()
    }

    /// The first key and value of a table.
    static func first(_ snapshot: borrowing Snapshot, _ table: TableCode) throws -> (key: [UInt8], value: [UInt8]) {
        var cursor = try snapshot.view.cursor(snapshot.tables[table])
        guard try cursor.next() else { throw Refusal() }
        return (cursor.key.copied(), cursor.value.copied())
    }
}
