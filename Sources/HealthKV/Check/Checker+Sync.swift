import ColumnFormat
import HealthModel
import LMDB

/// The state of sync: each record is read, and the places in the queues and both directions of links are compared.
extension Checker {
    private struct Place: Hashable {
        let peer: String
        let sample: SampleID
    }

    mutating func checkSync(_ snapshot: borrowing Snapshot) {
        var queued: [Place: UInt64] = [:]
        forEachValue(snapshot, .pending) { checker, value, key in
            let operation = try Checker.record(value, key, as: PendingOperation.self)
            let place = Place(peer: operation.peer, sample: operation.sample)
            if queued.updateValue(operation.sequence, forKey: place) != nil {
                checker.add(.queueWrong, .pending, "\(checker.place): another operation of its sample waits too")
            }
        }
        // What one direction of the links adds, the other takes away.
        var sum: UInt64 = 0
        var hasPlaces = false
        forEachValue(snapshot, .links) { checker, value, key in
            guard key.count == 33 else { throw FormatError(.invalid, "key of a link") }
            if key[16] == 2 {
                hasPlaces = true
                let known = try Checker.record(value, key, as: PendingPlace.self)
                if queued.removeValue(forKey: Place(peer: known.peer, sample: known.sample)) != known.sequence {
                    checker.add(.queueWrong, .links, "\(checker.place): a place in a queue without its operation")
                }
                return
            }
            let term = Checker.term(of: try Checker.record(value, key, as: PeerLink.self))
            sum = key[16] == 0 ? sum &+ term : sum &- term
        }
        // A store from before there were places has none at all.
        for _ in queued where hasPlaces { add(.queueWrong, .pending, "an operation without its place in the queue") }
        if sum != 0 { add(.linksDiffer, .links, "links by sample and links by the peer's id are not the same") }
        forEachValue(snapshot, .anchors) { _, value, key in _ = try Checker.record(value, key, as: Anchor.self) }
        forEachValue(snapshot, .peers) { _, value, key in _ = try Checker.record(value, key, as: RegisteredPeer.self) }
        forEachValue(snapshot, .totals) { _, value, key in _ = try Checker.record(value, key, as: DailyTotal.self) }
        forEachValue(snapshot, .audit) { _, value, key in _ = try Checker.record(value, key, as: AuditEntry.self) }
    }

    private static func record<Record: SyncRecord>(
        _ value: RawSpan, _ key: [UInt8], as type: Record.Type
    ) throws -> Record {
        let stored = try StoredSync<Record>(recordBytes: value)
        guard stored.key.keyBytes == key else { throw FormatError(.invalid, "a record under another's key") }
        return stored.record
    }

    private static func term(of link: PeerLink) -> UInt64 {
        let bytes = StoredSync(link, key: SyncKey([]), commit: 0).recordBytes
        return Checksum.hash(bytes, 0..<bytes.count)
    }
}
