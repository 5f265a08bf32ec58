import ColumnFormat
import HealthModel
import LMDB

/// Checks the records about peers that belong to no other check: anchors, peers, totals, the audit.
struct PeerCheck {
    let log: CheckLog

    func run(_ snapshot: borrowing Snapshot) {
        log.forEachValue(snapshot, .anchors) { value, key in _ = try PeerCheck.record(value, key, as: Anchor.self) }
        log.forEachValue(snapshot, .peers) { value, key in
            _ = try PeerCheck.record(value, key, as: RegisteredPeer.self)
        }
        log.forEachValue(snapshot, .totals) { value, key in
            let total = try PeerCheck.record(value, key, as: DailyTotal.self)
            if !total.isFinite {
                log.add(
                    .valueNotFinite, .totals, "\(log.place): a total is not finite", key: key)
            }
        }
        log.forEachValue(snapshot, .audit) { value, key in _ = try PeerCheck.record(value, key, as: AuditEntry.self) }
    }

    static func record<Record: SyncRecord>(
        _ value: RawSpan, _ key: [UInt8], as type: Record.Type
    ) throws -> Record {
        let stored = try StoredSync<Record>(recordBytes: value)
        guard stored.key.keyBytes == key else { throw FormatError(.invalid, "a record under another's key") }
        return stored.record
    }
}
