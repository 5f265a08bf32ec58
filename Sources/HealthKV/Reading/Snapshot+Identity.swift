import ColumnFormat
import HealthModel
import LMDB

extension Snapshot {
    /// Returns every hint for a hash that no removal cancels, sorted.
    func hints(_ hash: UInt64) throws -> [IdentityEntry] {
        let wanted = IdentityEntry.hash(hash)
        var entries: [IdentityEntry] = []
        if let partition = try partition(of: wanted) {
            var cursor = try view.cursor(tables[.identity])
            for run in partition.runs { try find(wanted, in: partition, run.number, &cursor, &entries) }
        }
        if header.recentEntries > 0 { try findRecent(wanted, &entries) }
        if entries.count > 1 { entries.sort() }
        return IdentityMerge.settle(entries, keepingRemovals: false)
    }

    /// Returns the partition that holds a 40-bit hash; `nil` in a store that has none yet.
    func partition(of hash: UInt64) throws -> IdentityPartition? {
        var low = 0
        var high = context.state.partitions.count
        while low < high {
            let middle = (low + high) / 2
            if context.state.partitions[middle].upper <= hash { low = middle + 1 } else { high = middle }
        }
        if low < context.state.partitions.count, context.state.partitions[low].lower <= hash {
            return context.state.partitions[low]
        }
        var cursor = try view.cursor(tables[.identity])
        guard try cursor.seekAtOrBefore(IdentityPartition.key(hash)), cursor.key.byteCount == 9 else { return nil }
        let partition = try IdentityPartition(cursor.value, key: cursor.key.copied())
        guard partition.lower <= hash, hash < partition.upper else { throw damaged("the identity index has a gap") }
        context.state.partitions.insert(partition, at: low)
        return partition
    }

    /// Up to this many entries are harmless, whatever else the store holds.
    private static let fewEntries: UInt32 = 1_024

    @_lifetime(cursor: copy cursor)
    private func find(
        _ hash: UInt64, in partition: IdentityPartition, _ run: UInt32, _ cursor: inout Cursor,
        _ entries: inout [IdentityEntry]
    ) throws {
        // The block before the first one that begins with the hash may end with it.
        let before = hash == 0 ? 0 : hash - 1
        let prefix = IdentityPartition.blockKey(partition.lower, run: run, hash: before, index: hash == 0 ? 0 : .max)
        var found = try cursor.seekAtOrBefore(prefix)
        if !found || !cursor.key.hasPrefix(prefix, count: IdentityPartition.blockPrefix) {
            found = try cursor.seek(prefix)
        }
        while found, cursor.key.hasPrefix(prefix, count: IdentityPartition.blockPrefix) {
            if cursor.key.loadHash(IdentityPartition.blockPrefix) > hash { break }
            prefetch(cursor.value)
            let value = try StoredValue(cursor.value, table: .identity, verified: context.verified)
            try value.expect(key: cursor.key)
            let block = try IdentityBlock(value)
            try block.find(hash, into: &entries)
            found = try block.lastHash <= hash && cursor.next()
        }
    }

    private func findRecent(_ hash: UInt64, _ entries: inout [IdentityEntry]) throws {
        var cursor = try view.cursor(tables[.identity])
        let first = RecentEntry.key(
            IdentityEntry(key: hash << IdentityEntry.quantumBits, kind: IdentityEntry.Kind(packed: 0)))
        var found = try cursor.seek(first)
        while found, cursor.key.byteCount == 17 {
            let key = cursor.key.copied()
            let entry = try RecentEntry.entry(key: key)
            guard key[0] == RecentEntry.tag, entry.hash == hash else { break }
            let net = try RecentEntry.net(cursor.value, key: key)
            if net.magnitude > Snapshot.fewEntries, try net.magnitude > mostRecentEntries() {
                throw damaged("recent identities are more than the store can have")
            }
            let signed = net < 0 ? IdentityEntry(key: entry.key, kind: entry.kind.removal) : entry
            entries.append(contentsOf: repeatElement(signed, count: Int(net.magnitude)))
            found = try cursor.next()
        }
    }
}
