import ColumnFormat
import HealthModel
import LMDB

/// Checks the state of sync: reads each record, and compares the places in the queues.
extension Checker {
    private struct Place: Hashable {
        let peer: PeerID
        let sample: SampleID
    }

    /// Checks the queues. In key order, a queue's directory comes first, then its operations, then their places.
    private mutating func checkQueues(_ snapshot: borrowing Snapshot) {
        var directories: [ArraySlice<UInt8>: QueueDirectory] = [:]
        var found: [ArraySlice<UInt8>: QueueDirectory.Section] = [:]
        var queued: [Place: PendingPlace] = [:]
        forEachValue(snapshot, .pending) { checker, value, key in
            if PeerKey.isDirectory(key) {
                directories[key[..<16]] = try Checker.record(value, key, as: QueueDirectory.self)
                return
            }
            guard PeerKey.isOperation(key) else {
                let place = try Checker.record(value, key, as: PendingPlace.self)
                if queued.removeValue(forKey: Place(peer: place.peer, sample: place.sample)) != place {
                    checker.add(.queueWrong, .pending, "\(checker.place): a place in a queue without its operation")
                }
                return
            }
            let operation = try Checker.record(value, key, as: PendingOperation.self)
            let number = key[16..<20].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
            let place = PendingPlace(
                peer: operation.peer, sample: operation.sample, sequence: operation.sequence, section: number)
            if queued.updateValue(place, forKey: Place(peer: place.peer, sample: place.sample)) != nil {
                checker.add(.queueWrong, .pending, "\(checker.place): another operation of its sample waits too")
            }
            guard let section = directories[key[..<16]]?[number], section.state == operation.state,
                section.reason == nil || section.reason == operation.reason, section.earliest <= operation.nextTry
            else {
                return checker.add(.queueWrong, .pending, "\(checker.place): an operation in the wrong section")
            }
            var counted = found[key[..<20]] ?? section
            counted.count = (found[key[..<20]]?.count ?? 0) + 1
            found[key[..<20]] = counted
        }
        for _ in queued { add(.queueWrong, .pending, "an operation without its place in the queue") }
        for (peer, directory) in directories {
            for section in directory.sections {
                let number = section.number.bigEndianBytes
                if found[peer + number]?.count ?? 0 != section.count {
                    add(.queueWrong, .pending, "a queue holds more or fewer operations than it says")
                }
            }
        }
    }

    mutating func checkSync(_ snapshot: borrowing Snapshot) {
        checkQueues(snapshot)
        checkLinks(snapshot)
        forEachValue(snapshot, .anchors) { _, value, key in _ = try Checker.record(value, key, as: Anchor.self) }
        forEachValue(snapshot, .peers) { _, value, key in _ = try Checker.record(value, key, as: RegisteredPeer.self) }
        forEachValue(snapshot, .totals) { checker, value, key in
            let total = try Checker.record(value, key, as: DailyTotal.self)
            if !total.isFinite {
                checker.add(
                    .valueNotFinite, .totals, "\(checker.place): a total is not finite", Checker.reference(key))
            }
        }
        forEachValue(snapshot, .audit) { _, value, key in _ = try Checker.record(value, key, as: AuditEntry.self) }
    }

    static func record<Record: SyncRecord>(
        _ value: RawSpan, _ key: [UInt8], as type: Record.Type
    ) throws -> Record {
        let stored = try StoredSync<Record>(recordBytes: value)
        guard stored.key.keyBytes == key else { throw FormatError(.invalid, "a record under another's key") }
        return stored.record
    }
}

extension UInt32 {
    fileprivate var bigEndianBytes: [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> UInt32($0)) }
    }
}
