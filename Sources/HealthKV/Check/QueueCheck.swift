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

    /// The queues of the table, as far as they were read.
    private struct Queues {
        var directories: [ArraySlice<UInt8>: QueueDirectory] = [:]
        var found: [ArraySlice<UInt8>: QueueDirectory.Section] = [:]
        var queued: [Place: PendingPlace] = [:]
        /// Queues of which a newer release wrote a part: what seems to be missing may be there.
        var newer: Set<ArraySlice<UInt8>> = []
    }

    /// In key order, a queue's directory comes first, then its operations, then their places.
    func run(_ snapshot: borrowing Snapshot) {
        var queues = Queues()
        log.forEachValue(snapshot, .pending) { value, key in
            do { try look(at: value, key, &queues) } catch {
                if Finding.Kind(error, else: .recordUnreadable) == .newerFormat { queues.newer.insert(key.prefix(16)) }
                throw error
            }
        }
        for place in queues.queued.values {
            let queue = PeerKey.peer(place.peer, snapshot.header.hashKey)[...]
            add("an operation has no entry for its sample", of: queue, queues)
        }
        for (queue, directory) in queues.directories {
            for section in directory.sections {
                let number = section.number.bigEndianBytes
                if queues.found[queue + number]?.count ?? 0 != section.count {
                    add("the recorded number of operations of a queue is wrong", of: queue, queues)
                }
            }
        }
    }

    private func add(_ detail: String, of queue: ArraySlice<UInt8>, _ queues: Queues) {
        if !queues.newer.contains(queue) { log.add(.queueWrong, .pending, detail) }
    }

    private func look(at value: RawSpan, _ key: [UInt8], _ queues: inout Queues) throws {
        let queue = key.prefix(16)
        if PeerKey.isDirectory(key) {
            queues.directories[queue] = try PeerCheck.record(value, key, as: QueueDirectory.self)
            return
        }
        guard PeerKey.isOperation(key) else {
            let place = try PeerCheck.record(value, key, as: PendingPlace.self)
            if queues.queued.removeValue(forKey: Place(peer: place.peer, sample: place.sample)) != place {
                add("\(log.place): a place in a queue without its operation", of: queue, queues)
            }
            return
        }
        let operation = try PeerCheck.record(value, key, as: PendingOperation.self)
        let number = key[16..<20].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        let place = PendingPlace(
            peer: operation.peer, sample: operation.sample, sequence: operation.sequence, section: number)
        if queues.queued.updateValue(place, forKey: Place(peer: place.peer, sample: place.sample)) != nil {
            add("\(log.place): another operation of its sample waits too", of: queue, queues)
        }
        guard let section = queues.directories[queue]?[number], section.state == operation.state,
            section.reason == nil || section.reason == operation.reason, section.earliest <= operation.nextTry
        else {
            return add("\(log.place): an operation in the wrong section", of: queue, queues)
        }
        var counted = queues.found[key[..<20]] ?? section
        counted.count = (queues.found[key[..<20]]?.count ?? 0) + 1
        queues.found[key[..<20]] = counted
    }
}

extension UInt32 {
    fileprivate var bigEndianBytes: [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> UInt32($0)) }
    }
}
