import ColumnFormat
import HealthModel
import LMDB

extension Checker {
    /// Every sample and tombstone has its entries in the index, and no id stands twice. A slice of the hashes at a time.
    mutating func checkIdentity(_ snapshot: borrowing Snapshot, _ progress: (Double) -> Bool) {
        do {
            try checkPartitions(snapshot)
            let slices = try snapshot.identitySlices()
            for (index, slice) in slices.enumerated() {
                try compare(expected: snapshot.expectedEntries(in: slice), found: snapshot.indexedEntries(in: slice))
                try checkDuplicates(snapshot, slice)
                guard progress(0.6 + 0.4 * Double(index + 1) / Double(slices.count)) else { return }
            }
            if try snapshot.recentEntries().count != Int(snapshot.header.recentEntries) {
                add(.identityUnreadable, .identity, "the number of recent entries is wrong")
            }
        } catch {
            add(.identityUnreadable, .identity, "\(error)")
        }
    }

    private mutating func checkPartitions(_ snapshot: borrowing Snapshot) throws {
        var next: UInt64 = 0
        for partition in try snapshot.allPartitions() {
            if partition.lower != next { add(.identityUnreadable, .identity, "partitions leave a gap") }
            next = partition.upper
            for run in partition.runs {
                var entries: [IdentityEntry] = []
                try snapshot.forEachBlock(partition.lower, run.number) { block in try block.appendAll(to: &entries) }
                if UInt64(entries.count) != run.entries
                    || zip(entries, entries.dropFirst()).contains(where: { $1 < $0 })
                {
                    add(.identityUnreadable, .identity, "run \(run.number) of a partition is not as its header says")
                }
            }
        }
        if next != 0, next != IdentityPartition.hashLimit {
            add(.identityUnreadable, .identity, "partitions end early")
        }
    }

    /// Both lists are sorted. What is expected and not found is damage; what is found and not expected costs a look.
    private mutating func compare(expected: [IdentityEntry], found: [IdentityEntry]) {
        var index = 0
        for entry in expected {
            while index < found.count, found[index] < entry {
                report.surplusHints += 1
                index += 1
            }
            if index < found.count, found[index] == entry {
                index += 1
            } else {
                add(.identityMissing, .identity, "an entry of type \(entry.kind.packed >> 16)")
            }
        }
        report.surplusHints += found.count - index
    }

    /// Ids of equal hash are compared themselves.
    private mutating func checkDuplicates(_ snapshot: borrowing Snapshot, _ slice: Range<UInt64>) throws {
        let key = snapshot.header.hashKey
        var hashes: [UInt64] = []
        try snapshot.forEachRowInChunks { _, row in
            let hash = IdentityHash.of(row.id, key)
            if slice.contains(IdentityEntry.hash(hash)) { hashes.append(hash) }
        }
        hashes.sort()
        for (left, right) in zip(hashes, hashes.dropFirst()) where left == right {
            add(.duplicateID, .details, "two samples have one id")
        }
    }
}

extension Snapshot {
    /// What the index holds in a range of hashes after removals, sorted.
    func indexedEntries(in slice: Range<UInt64>) throws -> [IdentityEntry] {
        var entries: [IdentityEntry] = []
        for partition in try allPartitions()
        where partition.lower < slice.upperBound && partition.upper > slice.lowerBound {
            for run in partition.runs {
                var block: [IdentityEntry] = []
                try forEachBlock(partition.lower, run.number) { try $0.appendAll(to: &block) }
                entries += block.filter { slice.contains($0.hash) }
            }
        }
        for (entry, net) in try recentEntries() where slice.contains(entry.hash) {
            let signed = net < 0 ? IdentityEntry(key: entry.key, kind: entry.kind.removal) : entry
            entries.append(contentsOf: repeatElement(signed, count: Int(net.magnitude)))
        }
        entries.sort()
        return IdentityMerge.settle(entries, keepingRemovals: false)
    }
}
