import ColumnFormat
import HealthModel
import LMDB

/// Checks the queues of peers: each operation has its place and its section, and each section its count.
struct QueueCheck {
    let log: CheckLog

    private struct Place: Hashable {
        let peer: PeerID
        let sample: SampleID
    }

    /// In key order, a queue's directory comes first, then its operations, then their places.
    func run(_ snapshot: borrowing Snapshot) {
        var directories: [ArraySlice<UInt8>: QueueDirectory] = [:]
        var found: [ArraySlice<UInt8>: QueueDirectory.Section] = [:]
        var queued: [Place: PendingPlace] = [:]
        log.forEachValue(snapshot, .pending) { value, key in
            if PeerKey.isDirectory(key) {
                directories[key[..<16]] = try PeerCheck.record(value, key, as: QueueDirectory.self)
                return
            }
            guard PeerKey.isOperation(key) else {
                let place = try PeerCheck.record(value, key, as: PendingPlace.self)
                if queued.removeValue(forKey: Place(peer: place.peer, sample: place.sample)) != place {
                    log.add(.queueWrong, .pending, "\(log.place): a place in a queue without its operation")
                }
                return
            }
            let operation = try PeerCheck.record(value, key, as: PendingOperation.self)
            let number = key[16..<20].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
            let place = PendingPlace(
                peer: operation.peer, sample: operation.sample, sequence: operation.sequence, section: number)
            if queued.updateValue(place, forKey: Place(peer: place.peer, sample: place.sample)) != nil {
                log.add(.queueWrong, .pending, "\(log.place): another operation of its sample waits too")
            }
            guard let section = directories[key[..<16]]?[number], section.state == operation.state,
                section.reason == nil || section.reason == operation.reason, section.earliest <= operation.nextTry
            else {
                return log.add(.queueWrong, .pending, "\(log.place): an operation in the wrong section")
            }
            var counted = found[key[..<20]] ?? section
            counted.count = (found[key[..<20]]?.count ?? 0) + 1
            found[key[..<20]] = counted
        }
        for _ in queued { log.add(.queueWrong, .pending, "an operation has no entry for its sample") }
        for (peer, directory) in directories {
            for section in directory.sections {
                let number = section.number.bigEndianBytes
                if found[peer + number]?.count ?? 0 != section.count {
                    log.add(.queueWrong, .pending, "the recorded number of operations of a queue is wrong")
                }
            }
        }
    }
}

extension UInt32 {
    fileprivate var bigEndianBytes: [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> UInt32($0)) }
    }
}
