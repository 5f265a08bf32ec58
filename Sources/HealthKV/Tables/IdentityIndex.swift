import ColumnFormat
import HealthModel
import LMDB

/// The most index entries for each record of its sources.
private enum IdentityLimits {
    /// One each by id, by sync identifier and by group.
    static let entriesOfRow = 3
    /// One under each of the two keys.
    static let entriesOfTombstone = 2
    /// In a block of one page, unless nearly all its entries are equal.
    static let entriesOfBlock = 1_024
}

/// The index of identities: 40 bits of a keyed hash lead to a place. Sorted runs in partitions of the hash space, and a
/// small recent part for single writes.
enum IdentityIndex {
    /// Returns the key of the partition that begins with a hash.
    static func partitionKey(_ lower: UInt64) -> [UInt8] {
        var writer = ByteWriter(reserving: 9)
        writer.append(IdentityPartition.tag)
        writer.appendBigEndian(lower)
        return writer.bytes
    }

    /// Returns the key of a block. Blocks of a run are in the order of their first hash; `index` distinguishes blocks
    /// that begin with the same hash.
    static func blockKey(_ lower: UInt64, run: UInt32, hash: UInt64, index: UInt16) -> [UInt8] {
        var writer = ByteWriter(reserving: 23)
        writer.append(IdentityPartition.blockTag)
        writer.appendBigEndian(lower)
        writer.appendBigEndian(run)
        writer.appendBigEndian(hash)
        writer.appendBigEndian(index)
        return writer.bytes
    }

    /// The bytes that the keys of a run's blocks share.
    private static let blockPrefix = 13

    /// Returns the key of a recent entry.
    static func recentKey(_ entry: IdentityEntry) -> [UInt8] {
        var writer = ByteWriter(reserving: 17)
        writer.append(IdentityPartition.recentTag)
        writer.appendBigEndian(entry.key)
        writer.appendBigEndian(entry.kind.addition.packed)
        return writer.bytes
    }

    /// Returns the entries of the index in a range of hashes, after removals, sorted.
    static func indexedEntries(in slice: Range<UInt64>, in snapshot: Snapshot) throws -> [IdentityEntry] {
        try indexedEntries(in: slice, of: allPartitions(in: snapshot), in: snapshot)
    }

    /// Returns the recent entries, and those of some partitions, in a range of hashes, after removals, sorted.
    static func indexedEntries(
        in slice: Range<UInt64>, of partitions: [IdentityPartition], in snapshot: Snapshot
    ) throws -> [IdentityEntry] {
        var entries: [IdentityEntry] = []
        for partition in partitions
        where partition.lower < slice.upperBound && partition.upper > slice.lowerBound {
            for run in partition.runs {
                var block: [IdentityEntry] = []
                try forEachBlock(partition.lower, run.number, in: snapshot) { try $0.appendAll(to: &block) }
                entries += block.filter { slice.contains($0.hash) }
            }
        }
        for (entry, net) in try recentEntries(in: snapshot) where slice.contains(entry.hash) {
            let signed = net < 0 ? IdentityEntry(key: entry.key, kind: entry.kind.removal) : entry
            entries.append(contentsOf: repeatElement(signed, count: Int(net.magnitude)))
        }
        entries.sort()
        return IdentityMerge.settle(entries, keepingRemovals: false)
    }

    /// Returns every hint for a hash that no removal cancels, sorted.
    static func hints(_ hash: UInt64, in snapshot: Snapshot) throws -> [IdentityEntry] {
        let wanted = IdentityEntry.hash(hash)
        var entries: [IdentityEntry] = []
        if let partition = try IdentityIndex.partition(of: wanted, in: snapshot) {
            var cursor = try snapshot.view.cursor(snapshot.tables[.identity])
            for run in partition.runs { try find(wanted, in: partition, run.number, &cursor, &entries, in: snapshot) }
        }
        if snapshot.header.recentEntries > 0 { try findRecent(wanted, &entries, in: snapshot) }
        if entries.count > 1 { entries.sort() }
        return IdentityMerge.settle(entries, keepingRemovals: false)
    }

    /// Returns the partition that holds a 40-bit hash; `nil` in a store that has none yet.
    static func partition(of hash: UInt64, in snapshot: Snapshot) throws -> IdentityPartition? {
        let low = (0..<snapshot.context.state.partitions.count).firstIndex(notPreceding: {
            snapshot.context.state.partitions[$0].upper <= hash
        })
        if low < snapshot.context.state.partitions.count, snapshot.context.state.partitions[low].lower <= hash {
            return snapshot.context.state.partitions[low]
        }
        var cursor = try snapshot.view.cursor(snapshot.tables[.identity])
        guard try cursor.seekAtOrBefore(partitionKey(hash)), cursor.key.byteCount == 9 else { return nil }
        let partition = try IdentityPartition(cursor.value, key: cursor.key.copied())
        guard partition.lower <= hash, hash < partition.upper else {
            throw snapshot.damaged(.identityGap)
        }
        snapshot.context.state.partitions.insert(partition, at: low)
        return partition
    }

    /// Up to this many entries are harmless, whatever else the store holds.
    private static let fewEntries: UInt32 = 1_024

    @_lifetime(cursor: copy cursor)
    private static func find(
        _ hash: UInt64, in partition: IdentityPartition, _ run: UInt32, _ cursor: inout Cursor,
        _ entries: inout [IdentityEntry], in snapshot: Snapshot
    ) throws {
        // The block before the first one that begins with the hash may end with it.
        let before = hash == 0 ? 0 : hash - 1
        let prefix = blockKey(partition.lower, run: run, hash: before, index: hash == 0 ? 0 : .max)
        var found = try cursor.seekAtOrBefore(prefix)
        if !found || !cursor.key.hasPrefix(prefix, count: blockPrefix) {
            found = try cursor.seek(prefix)
        }
        while found, cursor.key.hasPrefix(prefix, count: blockPrefix) {
            if cursor.key.loadHash(blockPrefix) > hash { break }
            prefetch(cursor.value)
            let value = try StoredValue(cursor.value, table: .identity, verified: snapshot.context.verified)
            try value.expect(key: cursor.key)
            let block = try IdentityBlock(value)
            try block.find(hash, into: &entries)
            found = try block.lastHash <= hash && cursor.next()
        }
    }

    private static func findRecent(_ hash: UInt64, _ entries: inout [IdentityEntry], in snapshot: Snapshot) throws {
        var cursor = try snapshot.view.cursor(snapshot.tables[.identity])
        let first = recentKey(
            IdentityEntry(key: hash << IdentityEntry.quantumBits, kind: IdentityEntry.Kind(packed: 0)))
        var found = try cursor.seek(first)
        while found, cursor.key.byteCount == 17 {
            let key = cursor.key.copied()
            let entry = try RecentEntry.entry(key: key)
            guard key[0] == IdentityPartition.recentTag, entry.hash == hash else { break }
            let net = try RecentEntry.net(cursor.value, key: key)
            if net.magnitude > IdentityIndex.fewEntries, try net.magnitude > mostRecentEntries(in: snapshot) {
                throw snapshot.damaged(.tooManyRecentIdentities)
            }
            let signed = net < 0 ? IdentityEntry(key: entry.key, kind: entry.kind.removal) : entry
            entries.append(contentsOf: repeatElement(signed, count: Int(net.magnitude)))
            found = try cursor.next()
        }
    }

    /// Rebuilds the identity index, one slice of the hashes at a time, so that memory stays bounded.
    ///
    /// - Parameter step: called before each slice; an error that it throws ends the work.
    static func rebuild(in txn: inout WriteTransaction, _ step: () throws -> Void) throws {
        try txn.clear(.identity)
        txn.state.header.recentEntries = 0
        txn.state.partitions = []
        for slice in try identitySlices(in: txn.snapshot) {
            try step()
            let entries = try expectedEntries(in: slice, in: txn.snapshot)
            try addRuns(entries, in: &txn)
        }
    }

    /// Returns ranges of 40-bit hashes that hold about a million entries each.
    static func identitySlices(in snapshot: Snapshot) throws -> [Range<UInt64>] {
        // Counts may be wrong; there cannot be more samples than the chunks can hold.
        let most = try snapshot.view.count(snapshot.tables[.chunks]) * ChunkEncoder.rowLimit
        let samples = min(
            most, max(0, try SummaryTable.allCounts(in: snapshot).reduce(0) { $0 + $1.counts.rowsInChunks }))
        let slices = UInt64(samples / 1_000_000 + 1)
        let width = IdentityPartition.hashLimit / slices
        return (0..<slices).map { slice in
            slice * width..<(slice + 1 == slices ? IdentityPartition.hashLimit : (slice + 1) * width)
        }
    }

    /// Returns every entry that the index must have in a range of hashes, sorted.
    static func expectedEntries(in slice: Range<UInt64>, in snapshot: Snapshot) throws -> [IdentityEntry] {
        var entries: [IdentityEntry] = []
        var scratch: [IdentityEntry] = []
        try ChunkTable.forEachRowInChunks(in: snapshot) { lane, row in
            appendIdentity(of: row, lane, to: &scratch, in: snapshot)
            for entry in scratch where slice.contains(entry.hash) { entries.append(entry) }
            scratch.removeAll(keepingCapacity: true)
        }
        for entry in try TombstoneTable.entries(in: snapshot) where slice.contains(entry.hash) { entries.append(entry) }
        entries.sort()
        return entries
    }

    /// Appends the entries that lead to a row: by id unless it is derived, by sync identifier unless it is the id's
    /// text, and by group.
    static func appendIdentity(
        of row: StoredRow, _ lane: Lane, to entries: inout [IdentityEntry], in snapshot: Snapshot
    ) {
        let key = snapshot.header.hashKey
        if !row.flags.contains(.derivedID) {
            entries.append(IdentityEntry(hash: IdentityHash.of(row.id, key), start: row.start, lane: lane))
        }
        guard let rare = row.rare else { return }
        if let text = rare.syncIdentifier {
            entries.append(
                IdentityEntry(hash: IdentityHash.of(syncIdentifier: text, key), start: row.start, lane: lane))
        }
        if let group = rare.group {
            entries.append(IdentityEntry(hash: IdentityHash.of(group: group, key), start: row.start, lane: lane))
        }
    }

    /// Marks the rows whose hash is in the index.
    static func markIndexed(
        _ hashes: [HashedRow], _ careful: inout [Bool], _ environment: WriteEnvironment, in snapshot: Snapshot
    ) throws {
        let partitions = try allPartitions(in: snapshot)
        let blocks = partitions.reduce(0) { $0 + $1.entries } / IdentityIndex.entriesPerBlock
        if hashes.count < environment.limits.importLookups || IdentityIndex.areFew(hashes.count, blocks) {
            return try lookUp(hashes[...], &careful, in: snapshot)
        }
        for partition in partitions {
            let rows = hashes[
                HashedRow.firstIndex(
                    hashes, atLeast: partition.lower)..<HashedRow.firstIndex(
                        hashes, atLeast: partition.upper)]
            let candidates = environment.filters.candidates(rows, in: partition) ?? Array(rows)
            if IdentityIndex.areFew(candidates.count, partition.entries / IdentityIndex.entriesPerBlock) {
                try lookUp(candidates[...], &careful, in: snapshot)
            } else {
                try compare(candidates, with: partition, &careful, in: snapshot)
            }
        }
        guard snapshot.header.recentEntries > 0 else { return }
        for (entry, _) in try recentEntries(in: snapshot) { HashedRow.mark(hashes, entry.hash, &careful) }
    }

    /// The approximate number of entries in a page.
    private static var entriesPerBlock: UInt64 { 700 }

    /// Returns `true` if the hashes are few enough to look up one by one: a lookup takes about as long as scanning
    /// eight blocks.
    private static func areFew(_ hashes: Int, _ blocks: UInt64) -> Bool { UInt64(hashes) * 8 <= blocks }

    private static func lookUp(_ rows: ArraySlice<HashedRow>, _ careful: inout [Bool], in snapshot: Snapshot) throws {
        for hashed in rows where !careful[Int(hashed.row)] {
            if try !hints(hashed.hash << IdentityEntry.quantumBits, in: snapshot).isEmpty {
                careful[Int(hashed.row)] = true
            }
        }
    }

    /// Marks the rows that a partition holds, in one pass over the partition.
    private static func compare(
        _ rows: [HashedRow], with partition: IdentityPartition, _ careful: inout [Bool], in snapshot: Snapshot
    ) throws {
        for run in partition.runs {
            var from = 0
            try forEachBlock(partition.lower, run.number, in: snapshot) { block in
                try HashedRow.mark(rows, in: block, &from, &careful)
            }
        }
    }

    /// Returns the entries that lead to a row.
    static func entries(of row: StoredRow, _ lane: Lane, in txn: borrowing WriteTransaction) -> [IdentityEntry] {
        var entries: [IdentityEntry] = []
        appendIdentity(of: row, lane, to: &entries, in: txn.snapshot)
        return entries
    }

    /// Moves the entries of a row that was replaced. Unchanged entries are not touched.
    static func reindex(from old: (StoredRow, Lane)?, to new: (StoredRow, Lane)?, in txn: inout WriteTransaction) throws
    {
        let before = old.map { entries(of: $0.0, $0.1, in: txn) } ?? []
        let after = new.map { entries(of: $0.0, $0.1, in: txn) } ?? []
        let (gone, come) = (old?.0.storedID, new?.0.storedID)
        if gone != come {
            if let gone { try LinkTable.keepLinks(ofLeaving: gone, in: &txn) }
            if let come { try LinkTable.keepLinks(besides: come, in: &txn) }
        }
        for entry in before where !after.contains(entry) { try addRecent(entry, -1, in: &txn) }
        for entry in after where !before.contains(entry) { try addRecent(entry, 1, in: &txn) }
    }

    /// Runs `body`, and at its end writes the entries that were added and removed meanwhile. Nothing looks for them
    /// earlier.
    static func indexingTogether(in txn: inout WriteTransaction, _ body: (inout WriteTransaction) throws -> Void) throws
    {
        txn.state.waitingEntries = []
        do {
            try body(&txn)
        } catch {
            txn.state.waitingEntries = nil
            throw error
        }
        let waiting = txn.state.waitingEntries ?? []
        txn.state.waitingEntries = nil
        try addTogether(waiting, in: &txn)
    }

    /// Applies the net change of each entry: a few entries go to the recent part of the index, many become a run. An
    /// entry that the recent part already holds is updated there, since a run does not cancel newer entries.
    static func addTogether(_ changes: [(entry: IdentityEntry, change: Int32)], in txn: inout WriteTransaction) throws {
        guard changes.count >= IdentityIndex.manyEntries else {
            for (entry, change) in changes { try addRecent(entry, change, in: &txn) }
            return
        }
        var entries: [IdentityEntry] = []
        for (entry, change) in changes {
            if txn.state.header.recentEntries > 0, try recentNet(recentKey(entry), in: txn.snapshot) != nil {
                try addRecent(entry, change, in: &txn)
            } else {
                let signed = change < 0 ? IdentityEntry(key: entry.key, kind: entry.kind.removal) : entry
                entries.append(contentsOf: repeatElement(signed, count: Int(change.magnitude)))
            }
        }
        try addRuns(entries.sorted(), in: &txn)
    }

    /// From this many entries on, a run costs less than the recent part of the index.
    private static let manyEntries = 64

    /// Applies the net change of an entry to the recent part of the index.
    static func addRecent(_ entry: IdentityEntry, _ change: Int32, in txn: inout WriteTransaction) throws {
        if txn.state.waitingEntries != nil {
            txn.state.waitingEntries!.append((entry, change))
            return
        }
        let key = recentKey(entry)
        let held = try recentNet(key, in: txn.snapshot)
        let net = change + (held ?? 0)
        if held != nil, txn.state.header.recentEntries > 0 { txn.state.header.recentEntries -= 1 }
        if net == 0 {
            try txn.remove(.identity, key)
        } else {
            try txn.put(.identity, key, RecentEntry.value(key: key, net: net, stamp: txn.stamp))
            txn.state.header.recentEntries += 1
        }
    }

    /// Adds many entries, including removals, as one run for each partition that they fall into.
    static func addRuns(_ entries: [IdentityEntry], in txn: inout WriteTransaction) throws {
        guard let first = entries.first else { return }
        try makeFirstPartition(in: &txn)
        var from = 0
        var next = first.hash
        while from < entries.count {
            guard let partition = try IdentityIndex.partition(of: next, in: txn.snapshot) else {
                throw txn.snapshot.damaged(.identityPartitionMissing)
            }
            var to = from
            while to < entries.count, entries[to].hash < partition.upper { to += 1 }
            try addRun(Array(entries[from..<to]), to: partition, in: &txn)
            if to < entries.count { next = entries[to].hash }
            from = to
        }
    }

    private static func makeFirstPartition(in txn: inout WriteTransaction) throws {
        guard try partition(of: 0, in: txn.snapshot) == nil else { return }
        try store(IdentityPartition(lower: 0, upper: IdentityPartition.hashLimit), in: &txn)
    }

    private static func store(_ partition: IdentityPartition, in txn: inout WriteTransaction) throws {
        let key = partitionKey(partition.lower)
        try txn.put(.identity, key, partition.value(key: key, stamp: txn.stamp))
        txn.state.partitions.removeAll { $0.lower < partition.upper && partition.lower < $0.upper }
        let index = txn.state.partitions.firstIndex { $0.lower > partition.lower } ?? txn.state.partitions.count
        txn.state.partitions.insert(partition, at: index)
    }

    /// Adds a run, and merges runs of similar size, so that an entry is moved only a few times in all and a look-up
    /// searches few runs.
    private static func addRun(
        _ entries: [IdentityEntry], to partition: IdentityPartition, in txn: inout WriteTransaction
    ) throws {
        if partition.isDivisible, partition.entries + UInt64(entries.count) > txn.environment.limits.partitionEntries {
            return try split(partition, entries, in: &txn)
        }
        if partition.runs.isEmpty {
            txn.environment.filters.make(partition, entries, txn.environment.limits)
        } else {
            txn.environment.filters.add(entries, to: partition)
        }
        var partition = partition
        var merged = entries
        var gone: [IdentityPartition.Run] = []
        // Once there would be more than three runs, the newest ones that are not much larger merge with the new one.
        while partition.runs.count >= 3, let last = partition.runs.last {
            if partition.runs.count < 6, last.entries > UInt64(2 * merged.count) { break }
            merged = try IdentityMerge.union(read(partition, last, in: txn), merged)
            gone.append(last)
            partition.runs.removeLast()
        }
        try replace(gone, by: merged, in: &partition, in: &txn)
        txn.state.addedRuns = true
    }

    /// Replaces runs that were taken out of a partition with the merged run.
    private static func replace(
        _ gone: [IdentityPartition.Run], by merged: [IdentityEntry], in partition: inout IdentityPartition,
        in txn: inout WriteTransaction
    ) throws {
        for run in gone { try removeBlocks(partition.lower, run.number, in: &txn) }
        try write(IdentityMerge.settle(merged, keepingRemovals: !partition.runs.isEmpty), as: &partition, in: &txn)
        try store(partition, in: &txn)
    }

    /// Merges runs of one partition, so that a look-up searches few. A step of upkeep: imports leave this for later.
    static func mergeRuns(at lower: UInt64, in txn: inout WriteTransaction) throws {
        // Another process may have written since this process noticed that there is something to merge.
        guard var partition = try IdentityIndex.partition(of: lower, in: txn.snapshot), partition.lower == lower,
            let first = partition.firstRunToMerge
        else { return }
        var merged: [IdentityEntry] = []
        let gone = Array(partition.runs[first...])
        for run in gone.reversed() { merged = try IdentityMerge.union(read(partition, run, in: txn), merged) }
        partition.runs.removeLast(gone.count)
        if partition.runs.isEmpty { txn.environment.filters.make(partition, merged, txn.environment.limits) }
        try replace(gone, by: merged, in: &partition, in: &txn)
    }

    private static func write(
        _ entries: [IdentityEntry], as partition: inout IdentityPartition, in txn: inout WriteTransaction
    ) throws {
        guard !entries.isEmpty else { return }
        let number = partition.nextRun
        partition.nextRun += 1
        partition.runs.append(IdentityPartition.Run(number: number, entries: UInt64(entries.count)))
        var encoder = IdentityBlockEncoder(
            pageSize: txn.environment.limits.identityBlockBytes ?? txn.environment.pageSize)
        var from = 0
        var index: UInt16 = 0
        var last: UInt64?
        while from < entries.count {
            let hash = entries[from].hash
            index = hash == last ? index + 1 : 0
            last = hash
            let block = encoder.block(entries[from...], stamp: txn.stamp) {
                blockKey(partition.lower, run: number, hash: $0, index: index)
            }
            try txn.put(.identity, block.key, block.value)
            from += block.count
        }
    }

    /// Merges all runs of a partition that has outgrown its limit, and splits it into several.
    private static func split(
        _ partition: IdentityPartition, _ entries: [IdentityEntry], in txn: inout WriteTransaction
    ) throws {
        var merged = entries
        for run in partition.runs.reversed() { merged = try IdentityMerge.union(read(partition, run, in: txn), merged) }
        for run in partition.runs { try removeBlocks(partition.lower, run.number, in: &txn) }
        txn.environment.filters.remove(partition)
        merged = IdentityMerge.settle(merged, keepingRemovals: false)
        let parts = partition.parts(of: merged, limit: txn.environment.limits.partitionEntries)
        for (number, part) in parts.enumerated() {
            let upper = number + 1 < parts.count ? parts[number + 1].lower : partition.upper
            var divided = IdentityPartition(lower: part.lower, upper: upper)
            divided.nextRun = partition.nextRun
            let entries = Array(merged[part.rows])
            txn.environment.filters.make(divided, entries, txn.environment.limits)
            try write(entries, as: &divided, in: &txn)
            try store(divided, in: &txn)
        }
    }

    private static func read(
        _ partition: IdentityPartition, _ run: IdentityPartition.Run, in txn: borrowing WriteTransaction
    ) throws -> [IdentityEntry] {
        var entries: [IdentityEntry] = []
        entries.reserveCapacity(Int(min(run.entries, 2 * IdentityPartition.hashLimit >> 20)))
        try forEachBlock(partition.lower, run.number, in: txn.snapshot) { block in try block.appendAll(to: &entries) }
        return entries
    }

    private static func removeBlocks(_ lower: UInt64, _ run: UInt32, in txn: inout WriteTransaction) throws {
        for key in try blockKeys(lower, run, in: txn.snapshot) { try txn.remove(.identity, key) }
    }

    /// Moves the recent entries into runs. A step of upkeep.
    static func foldRecentEntries(in txn: inout WriteTransaction) throws {
        let recent = try recentEntries(in: txn.snapshot)
        for (entry, _) in recent { try txn.remove(.identity, recentKey(entry)) }
        txn.state.header.recentEntries = 0
        // A header that counts entries which are not there would otherwise keep its count, and this step would come
        // again for ever.
        txn.state.isChanged = true
        var entries: [IdentityEntry] = []
        for (entry, net) in recent {
            let signed = net < 0 ? IdentityEntry(key: entry.key, kind: entry.kind.removal) : entry
            entries.append(contentsOf: repeatElement(signed, count: Int(net.magnitude)))
        }
        entries.sort()
        try addRuns(entries, in: &txn)
    }

    /// Returns the net count of a recent entry; `nil` if there is no record of it.
    private static func recentNet(_ key: [UInt8], in snapshot: Snapshot) throws -> Int32? {
        guard let span = try snapshot.view.get(snapshot.tables[.identity], key) else { return nil }
        return try RecentEntry.net(span, key: key)
    }

    /// Calls `body` with each block of a run, in order.
    static func forEachBlock(
        _ lower: UInt64, _ run: UInt32, in snapshot: Snapshot, _ body: (IdentityBlock) throws -> Void
    ) throws {
        var cursor = try snapshot.view.cursor(snapshot.tables[.identity])
        let prefix = blockKey(lower, run: run, hash: 0, index: 0)
        var found = try cursor.seek(prefix)
        while found, cursor.key.hasPrefix(prefix, count: blockPrefix) {
            let value = try StoredValue(cursor.value, table: .identity)
            try value.expect(key: cursor.key.copied())
            try body(IdentityBlock(value))
            found = try cursor.next()
        }
    }

    static func blockKeys(_ lower: UInt64, _ run: UInt32, in snapshot: Snapshot) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.identity])
        let prefix = blockKey(lower, run: run, hash: 0, index: 0)
        var found = try cursor.seek(prefix)
        while found, cursor.key.hasPrefix(prefix, count: blockPrefix) {
            keys.append(cursor.key.copied())
            found = try cursor.next()
        }
        return keys
    }

    /// Returns the most entries that recent records may hold. A record counts additions or removals of one entry.
    /// Additions come from rows and tombstones; removals from those or from runs. So the size of the file bounds the
    /// cost of a forged count.
    static func mostRecentEntries(in snapshot: Snapshot) throws -> Int {
        let chunks = try snapshot.view.count(snapshot.tables[.chunks])
        let tombstones = try TombstoneTable.count(in: snapshot)
        let rows = try snapshot.view.count(snapshot.tables[.identity])
        return IdentityLimits.entriesOfRow * ChunkEncoder.rowLimit * chunks + IdentityLimits.entriesOfTombstone
            * tombstones
            + IdentityLimits.entriesOfBlock * rows
    }

    /// Returns every recent entry with its net count, in order.
    static func recentEntries(in snapshot: Snapshot) throws -> [(IdentityEntry, Int32)] {
        var entries: [(IdentityEntry, Int32)] = []
        var left = try mostRecentEntries(in: snapshot)
        var cursor = try snapshot.view.cursor(snapshot.tables[.identity])
        var found = try cursor.seek([IdentityPartition.recentTag])
        while found {
            let key = cursor.key.copied()
            guard key[0] == IdentityPartition.recentTag else { break }
            let entry = try RecentEntry.entry(key: key)
            let net = try RecentEntry.net(cursor.value, key: key)
            left -= Int(net.magnitude)
            guard left >= 0 else { throw snapshot.damaged(.tooManyRecentIdentities) }
            entries.append((entry, net))
            found = try cursor.next()
        }
        return entries
    }

    /// Returns every partition, in order.
    static func allPartitions(in snapshot: Snapshot) throws -> [IdentityPartition] {
        var partitions: [IdentityPartition] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.identity])
        var found = try cursor.seek(partitionKey(0))
        while found, cursor.key.byteCount == 9 {
            let partition = try IdentityPartition(cursor.value, key: cursor.key.copied())
            guard partitions.last.map({ $0.upper <= partition.lower }) ?? true else {
                throw snapshot.damaged(.identityPartitionsOverlap)
            }
            partitions.append(partition)
            found = try cursor.next()
        }
        return partitions
    }
}

extension HashedRow {
    /// Returns the index of the first row, in sorted rows, whose hash is not below a bound.
    static func firstIndex(_ rows: [HashedRow], atLeast hash: UInt64) -> Int {
        (0..<rows.count).firstIndex(notPreceding: { rows[$0].hash < hash })
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

extension StoredRow {
    /// The id, unless it is derived from content: derived ids are in no index.
    var storedID: SampleID? { flags.contains(.derivedID) ? nil : id }
}
