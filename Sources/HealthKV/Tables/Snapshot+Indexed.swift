import ColumnFormat
import LMDB

extension Snapshot {
    /// Marks the rows whose hash is in the index.
    func markIndexed(_ hashes: [HashedRow], _ careful: inout [Bool], _ environment: WriteEnvironment) throws {
        let partitions = try allPartitions()
        let blocks = partitions.reduce(0) { $0 + $1.entries } / Snapshot.entriesPerBlock
        if hashes.count < environment.limits.importLookups || Snapshot.areFew(hashes.count, blocks) {
            return try lookUp(hashes[...], &careful)
        }
        for partition in partitions {
            let rows = hashes[
                HashedRow.firstIndex(
                    hashes, atLeast: partition.lower)..<HashedRow.firstIndex(
                        hashes, atLeast: partition.upper)]
            let candidates = environment.filters.candidates(rows, in: partition) ?? Array(rows)
            if Snapshot.areFew(candidates.count, partition.entries / Snapshot.entriesPerBlock) {
                try lookUp(candidates[...], &careful)
            } else {
                try compare(candidates, with: partition, &careful)
            }
        }
        guard header.recentEntries > 0 else { return }
        for (entry, _) in try recentEntries() { HashedRow.mark(hashes, entry.hash, &careful) }
    }

    /// The approximate number of entries in a page.
    private static var entriesPerBlock: UInt64 { 700 }

    /// Returns `true` if the hashes are few enough to look up one by one: a lookup takes about as long as scanning
    /// eight blocks.
    private static func areFew(_ hashes: Int, _ blocks: UInt64) -> Bool { UInt64(hashes) * 8 <= blocks }

    private func lookUp(_ rows: ArraySlice<HashedRow>, _ careful: inout [Bool]) throws {
        for hashed in rows where !careful[Int(hashed.row)] {
            if try !hints(hashed.hash << IdentityEntry.quantumBits).isEmpty { careful[Int(hashed.row)] = true }
        }
    }

    /// Marks the rows that a partition holds, in one pass over the partition.
    private func compare(_ rows: [HashedRow], with partition: IdentityPartition, _ careful: inout [Bool]) throws {
        for run in partition.runs {
            var from = 0
            try forEachBlock(partition.lower, run.number) { block in
                try HashedRow.mark(rows, in: block, &from, &careful)
            }
        }
    }
}

extension HashedRow {
    /// Returns the index of the first row, in sorted rows, whose hash is not below a bound.
    static func firstIndex(_ rows: [HashedRow], atLeast hash: UInt64) -> Int {
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].hash < hash { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Marks the rows, starting at `from`, whose hash a block holds, and moves `from` past the block.
    fileprivate static func mark(
        _ rows: [HashedRow], in block: IdentityBlock, _ from: inout Int, _ careful: inout [Bool]
    ) throws {
        let last = block.lastHash
        var probe = IdentityBlock.Probe()
        while from < rows.count, rows[from].hash <= last {
            if try block.contains(rows[from].hash, &probe) { careful[Int(rows[from].row)] = true }
            from += 1
        }
    }

    /// Marks the rows with a given hash.
    fileprivate static func mark(_ rows: [HashedRow], _ hash: UInt64, _ careful: inout [Bool]) {
        var index = firstIndex(rows, atLeast: hash)
        while index < rows.count, rows[index].hash == hash {
            careful[Int(rows[index].row)] = true
            index += 1
        }
    }
}
