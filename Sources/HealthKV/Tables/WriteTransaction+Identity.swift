import ColumnFormat
import HealthModel
import LMDB

extension WriteTransaction {
    /// Returns the entries that lead to a row.
    func entries(of row: StoredRow, _ lane: Lane) -> [IdentityEntry] {
        var entries: [IdentityEntry] = []
        appendEntries(of: row, lane, to: &entries)
        return entries
    }

    func appendEntries(of row: StoredRow, _ lane: Lane, to entries: inout [IdentityEntry]) {
        snapshot.appendIdentity(of: row, lane, to: &entries)
    }

    /// Moves the entries of a row that was replaced. Unchanged entries are not touched.
    mutating func reindex(from old: (StoredRow, Lane)?, to new: (StoredRow, Lane)?) throws {
        let before = old.map { entries(of: $0.0, $0.1) } ?? []
        let after = new.map { entries(of: $0.0, $0.1) } ?? []
        let (gone, come) = (old?.0.storedID, new?.0.storedID)
        if gone != come {
            if let gone { try keepLinks(ofLeaving: gone) }
            if let come { try keepLinks(besides: come) }
        }
        for entry in before where !after.contains(entry) { try addRecent(entry, -1) }
        for entry in after where !before.contains(entry) { try addRecent(entry, 1) }
    }

    /// Runs `body`, and at its end writes the entries that were added and removed meanwhile. Nothing looks for them
    /// earlier.
    mutating func indexingTogether(_ body: (inout WriteTransaction) throws -> Void) throws {
        state.waitingEntries = []
        try body(&self)
        let waiting = state.waitingEntries ?? []
        state.waitingEntries = nil
        try addTogether(waiting)
    }

    /// Applies the net change of each entry: a few entries go to the recent part of the index, many become a run. An
    /// entry that the recent part already holds is updated there, since a run does not cancel newer entries.
    mutating func addTogether(_ changes: [(entry: IdentityEntry, change: Int32)]) throws {
        guard changes.count >= WriteTransaction.manyEntries else {
            for (entry, change) in changes { try addRecent(entry, change) }
            return
        }
        var entries: [IdentityEntry] = []
        for (entry, change) in changes {
            if state.header.recentEntries > 0, try snapshot.recentNet(RecentEntry.key(entry)) != nil {
                try addRecent(entry, change)
            } else {
                let signed = change < 0 ? IdentityEntry(key: entry.key, kind: entry.kind.removal) : entry
                entries.append(contentsOf: repeatElement(signed, count: Int(change.magnitude)))
            }
        }
        try addRuns(entries.sorted())
    }

    /// From this many entries on, a run costs less than the recent part of the index.
    private static let manyEntries = 64

    /// Applies the net change of an entry to the recent part of the index.
    mutating func addRecent(_ entry: IdentityEntry, _ change: Int32) throws {
        if state.waitingEntries != nil {
            state.waitingEntries!.append((entry, change))
            return
        }
        let key = RecentEntry.key(entry)
        let held = try snapshot.recentNet(key)
        let net = change + (held ?? 0)
        if held != nil, state.header.recentEntries > 0 { state.header.recentEntries -= 1 }
        if net == 0 {
            try remove(.identity, key)
        } else {
            try put(.identity, key, RecentEntry.value(key: key, net: net, commit: commit))
            state.header.recentEntries += 1
        }
    }

    /// Adds many entries, including removals, as one run for each partition that they fall into.
    mutating func addRuns(_ entries: [IdentityEntry]) throws {
        guard let first = entries.first else { return }
        try makeFirstPartition()
        var from = 0
        var next = first.hash
        while from < entries.count {
            guard let partition = try snapshot.partition(of: next) else {
                throw snapshot.damaged("no identity partition")
            }
            var to = from
            while to < entries.count, entries[to].hash < partition.upper { to += 1 }
            try addRun(Array(entries[from..<to]), to: partition)
            if to < entries.count { next = entries[to].hash }
            from = to
        }
    }

    private mutating func makeFirstPartition() throws {
        guard try snapshot.partition(of: 0) == nil else { return }
        try store(IdentityPartition(lower: 0, upper: IdentityPartition.hashLimit))
    }

    private mutating func store(_ partition: IdentityPartition) throws {
        try put(.identity, IdentityPartition.key(partition.lower), partition.value(commit: commit))
        state.partitions.removeAll { $0.lower < partition.upper && partition.lower < $0.upper }
        let index = state.partitions.firstIndex { $0.lower > partition.lower } ?? state.partitions.count
        state.partitions.insert(partition, at: index)
    }

    /// Adds a run, and merges runs of similar size, so that an entry is moved only a few times in all and a look-up
    /// searches few runs.
    private mutating func addRun(_ entries: [IdentityEntry], to partition: IdentityPartition) throws {
        if partition.isDivisible, partition.entries + UInt64(entries.count) > environment.limits.partitionEntries {
            return try split(partition, entries)
        }
        if partition.runs.isEmpty {
            environment.filters.make(partition, entries, environment.limits)
        } else {
            environment.filters.add(entries, to: partition)
        }
        var partition = partition
        var merged = entries
        var gone: [IdentityPartition.Run] = []
        // Once there would be more than three runs, the newest ones that are not much larger merge with the new one.
        while partition.runs.count >= 3, let last = partition.runs.last {
            if partition.runs.count < 6, last.entries > UInt64(2 * merged.count) { break }
            merged = try IdentityMerge.union(read(partition, last), merged)
            gone.append(last)
            partition.runs.removeLast()
        }
        try replace(gone, by: merged, in: &partition)
        state.addedRuns = true
    }

    /// Replaces runs that were taken out of a partition with the merged run.
    private mutating func replace(
        _ gone: [IdentityPartition.Run], by merged: [IdentityEntry], in partition: inout IdentityPartition
    ) throws {
        for run in gone { try removeBlocks(partition.lower, run.number) }
        try write(IdentityMerge.settle(merged, keepingRemovals: !partition.runs.isEmpty), as: &partition)
        try store(partition)
    }

    /// Merges runs of one partition, so that a look-up searches few. A step of upkeep: imports leave this for later.
    mutating func mergeRuns(at lower: UInt64) throws {
        // Another process may have written since this process noticed that there is something to merge.
        guard var partition = try snapshot.partition(of: lower), partition.lower == lower,
            let first = partition.firstRunToMerge
        else { return }
        var merged: [IdentityEntry] = []
        let gone = Array(partition.runs[first...])
        for run in gone.reversed() { merged = try IdentityMerge.union(read(partition, run), merged) }
        partition.runs.removeLast(gone.count)
        if partition.runs.isEmpty { environment.filters.make(partition, merged, environment.limits) }
        try replace(gone, by: merged, in: &partition)
    }

    private mutating func write(_ entries: [IdentityEntry], as partition: inout IdentityPartition) throws {
        guard !entries.isEmpty else { return }
        let number = partition.nextRun
        partition.nextRun += 1
        partition.runs.append(IdentityPartition.Run(number: number, entries: UInt64(entries.count)))
        var encoder = IdentityBlockEncoder(pageSize: environment.limits.identityBlockBytes ?? environment.pageSize)
        var from = 0
        var index: UInt16 = 0
        var last: UInt64?
        while from < entries.count {
            let hash = entries[from].hash
            index = hash == last ? index + 1 : 0
            last = hash
            let block = encoder.block(entries[from...], commit: commit) {
                IdentityPartition.blockKey(partition.lower, run: number, hash: $0, index: index)
            }
            try put(.identity, block.key, block.value)
            from += block.count
        }
    }

    /// Merges all runs of a partition that has outgrown its limit, and splits it into several.
    private mutating func split(_ partition: IdentityPartition, _ entries: [IdentityEntry]) throws {
        var merged = entries
        for run in partition.runs.reversed() { merged = try IdentityMerge.union(read(partition, run), merged) }
        for run in partition.runs { try removeBlocks(partition.lower, run.number) }
        environment.filters.remove(partition)
        merged = IdentityMerge.settle(merged, keepingRemovals: false)
        let parts = partition.parts(of: merged, limit: environment.limits.partitionEntries)
        for (number, part) in parts.enumerated() {
            let upper = number + 1 < parts.count ? parts[number + 1].lower : partition.upper
            var divided = IdentityPartition(lower: part.lower, upper: upper)
            divided.nextRun = partition.nextRun
            let entries = Array(merged[part.rows])
            environment.filters.make(divided, entries, environment.limits)
            try write(entries, as: &divided)
            try store(divided)
        }
    }

    private func read(_ partition: IdentityPartition, _ run: IdentityPartition.Run) throws -> [IdentityEntry] {
        var entries: [IdentityEntry] = []
        entries.reserveCapacity(Int(min(run.entries, 2 * IdentityPartition.hashLimit >> 20)))
        try snapshot.forEachBlock(partition.lower, run.number) { block in try block.appendAll(to: &entries) }
        return entries
    }

    private mutating func removeBlocks(_ lower: UInt64, _ run: UInt32) throws {
        for key in try snapshot.blockKeys(lower, run) { try remove(.identity, key) }
    }

    /// Moves the recent entries into runs. A step of upkeep.
    mutating func foldRecentEntries() throws {
        let recent = try snapshot.recentEntries()
        for (entry, _) in recent { try remove(.identity, RecentEntry.key(entry)) }
        state.header.recentEntries = 0
        var entries: [IdentityEntry] = []
        for (entry, net) in recent {
            let signed = net < 0 ? IdentityEntry(key: entry.key, kind: entry.kind.removal) : entry
            entries.append(contentsOf: repeatElement(signed, count: Int(net.magnitude)))
        }
        entries.sort()
        try addRuns(entries)
    }
}

extension StoredRow {
    /// The id, unless it is derived from content: derived ids are in no index.
    var storedID: SampleID? { flags.contains(.derivedID) ? nil : id }
}

extension Snapshot {
    /// Returns the net count of a recent entry; `nil` if there is no record of it.
    fileprivate func recentNet(_ key: [UInt8]) throws -> Int32? {
        guard let span = try view.get(tables[.identity], key) else { return nil }
        return try RecentEntry.net(span, key: key)
    }

    /// Calls `body` with each block of a run, in order.
    func forEachBlock(_ lower: UInt64, _ run: UInt32, _ body: (IdentityBlock) throws -> Void) throws {
        var cursor = try view.cursor(tables[.identity])
        let prefix = IdentityPartition.blockKey(lower, run: run, hash: 0, index: 0)
        var found = try cursor.seek(prefix)
        while found, cursor.key.hasPrefix(prefix, count: IdentityPartition.blockPrefix) {
            let value = try StoredValue(cursor.value, table: .identity)
            try value.expect(key: cursor.key.copied())
            try body(IdentityBlock(value))
            found = try cursor.next()
        }
    }

    func blockKeys(_ lower: UInt64, _ run: UInt32) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var cursor = try view.cursor(tables[.identity])
        let prefix = IdentityPartition.blockKey(lower, run: run, hash: 0, index: 0)
        var found = try cursor.seek(prefix)
        while found, cursor.key.hasPrefix(prefix, count: IdentityPartition.blockPrefix) {
            keys.append(cursor.key.copied())
            found = try cursor.next()
        }
        return keys
    }

    /// Returns the most entries that recent records may hold. A record counts additions or removals of one entry.
    /// Additions come from rows and tombstones; removals from those or from runs. So the size of the file bounds the
    /// cost of a forged count.
    func mostRecentEntries() throws -> Int {
        let chunks = try view.statistics(tables[.chunks]).entries
        let tombstones = try view.statistics(tables[.tombstones]).entries
        let rows = try view.statistics(tables[.identity]).entries
        return IdentityLimits.entriesOfRow * ChunkEncoder.rowLimit * chunks + IdentityLimits.entriesOfTombstone
            * tombstones
            + IdentityLimits.entriesOfBlock * rows
    }

    /// Returns every recent entry with its net count, in order.
    func recentEntries() throws -> [(IdentityEntry, Int32)] {
        var entries: [(IdentityEntry, Int32)] = []
        var left = try mostRecentEntries()
        var cursor = try view.cursor(tables[.identity])
        var found = try cursor.seek([RecentEntry.tag])
        while found, cursor.key.byteCount == 17 {
            let key = cursor.key.copied()
            guard key[0] == RecentEntry.tag else { break }
            let net = try RecentEntry.net(cursor.value, key: key)
            left -= Int(net.magnitude)
            guard left >= 0 else { throw damaged("recent identities are more than the store can have") }
            entries.append((try RecentEntry.entry(key: key), net))
            found = try cursor.next()
        }
        return entries
    }

    /// Returns every partition, in order.
    func allPartitions() throws -> [IdentityPartition] {
        var partitions: [IdentityPartition] = []
        var cursor = try view.cursor(tables[.identity])
        var found = try cursor.seek(IdentityPartition.key(0))
        while found, cursor.key.byteCount == 9 {
            let partition = try IdentityPartition(cursor.value, key: cursor.key.copied())
            guard partitions.last.map({ $0.upper <= partition.lower }) ?? true else {
                throw damaged("identity partitions overlap")
            }
            partitions.append(partition)
            found = try cursor.next()
        }
        return partitions
    }
}

/// The most index entries for each record of its sources.
private enum IdentityLimits {
    /// One each by id, by sync identifier and by group.
    static let entriesOfRow = 3
    /// One under each of the two keys.
    static let entriesOfTombstone = 2
    /// In a block of one page, unless nearly all its entries are equal.
    static let entriesOfBlock = 1_024
}
