import ColumnFormat
import HealthModel
import LMDB

extension SampleStore {
    /// Rebuilds every derived table and mark from the primary ones. The identity index, counts, shadow marks, the
    /// contents of queues and the look-up of links are rebuilt in one transaction, so either all of them are new or
    /// nothing changes. Then short transactions rebuild the summaries. Readers are never blocked.
    public func rebuild() throws {
        try checkWritable()
        _ = try core.onWriter { [core] in try core.transact { try $0.rebuild() } }
        core.hasDamagedLinks.store(false, ordering: .relaxed)
        try core.refreshAllSummaries()
    }

    /// Sets whether samples of a type at exactly the same time shadow each other in this store, and updates their
    /// marks.
    public func setShadowing(of type: SampleType, _ isOn: Bool) throws {
        try write { transaction in
            let number = try transaction.number(of: type)
            transaction.state.header.shadowing[number] = isOn
            transaction.state.isChanged = true
            try transaction.rebuildShadows(of: number)
        }
    }
}

extension WriteTransaction {
    fileprivate mutating func rebuild() throws {
        for type in try snapshot.typesWithChunks() { try rebuildShadows(of: type) }
        try rebuildCounts()
        try rebuildIdentity()
        try rebuildQueues()
        try rebuildLinks()
    }

    /// Recomputes the shadow marks of all samples of a type.
    mutating func rebuildShadows(of type: UInt32) throws {
        let isOn = try shadows(type)
        for duration in DurationClass.allCases {
            let lane = Lane(type: type, duration: duration)
            for key in try snapshot.chunkKeys(lane) {
                let times = try snapshot.contestedTimes(lane, key, isOn)
                if isOn { try refreshShadows(lane, times) } else { try clearShadows(lane, times) }
            }
        }
    }

    /// Recounts every type, and marks all summaries as stale.
    private mutating func rebuildCounts() throws {
        try clear(.summaries)
        state.counts = [:]
        for (type, counts, starts) in try snapshot.countAll() {
            state.counts[type] = counts
            if let starts { state.stale.mark(type, starts.lowerBound, starts.upperBound) }
        }
    }

    /// Rebuilds the identity index, one slice of the hashes at a time, so that memory stays bounded.
    private mutating func rebuildIdentity() throws {
        try clear(.identity)
        state.header.recentEntries = 0
        state.partitions = []
        for slice in try snapshot.identitySlices() {
            let entries = try snapshot.expectedEntries(in: slice)
            try addRuns(entries)
        }
    }
}

extension Snapshot {
    /// Returns ranges of 40-bit hashes that hold about a million entries each.
    func identitySlices() throws -> [Range<UInt64>] {
        // Counts may be wrong; there cannot be more samples than the chunks can hold.
        let most = try view.statistics(tables[.chunks]).entries * ChunkEncoder.rowLimit
        let samples = min(most, max(0, try allCounts().reduce(0) { $0 + $1.counts.rowsInChunks }))
        let slices = UInt64(samples / 1_000_000 + 1)
        let width = IdentityPartition.hashLimit / slices
        return (0..<slices).map { slice in
            slice * width..<(slice + 1 == slices ? IdentityPartition.hashLimit : (slice + 1) * width)
        }
    }

    /// Returns every entry that the index must have in a range of hashes, sorted.
    func expectedEntries(in slice: Range<UInt64>) throws -> [IdentityEntry] {
        var entries: [IdentityEntry] = []
        var scratch: [IdentityEntry] = []
        try forEachRowInChunks { lane, row in
            appendIdentity(of: row, lane, to: &scratch)
            for entry in scratch where slice.contains(entry.hash) { entries.append(entry) }
            scratch.removeAll(keepingCapacity: true)
        }
        for entry in try tombstoneEntries() where slice.contains(entry.hash) { entries.append(entry) }
        entries.sort()
        return entries
    }

    /// Appends the entries that lead to a row: by id unless it is derived, by sync identifier unless it is the id's
    /// text, and by group.
    func appendIdentity(of row: StoredRow, _ lane: Lane, to entries: inout [IdentityEntry]) {
        let key = header.hashKey
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

    func tombstoneEntries() throws -> [IdentityEntry] {
        var entries: [IdentityEntry] = []
        var cursor = try view.cursor(tables[.tombstones])
        while try cursor.next() {
            let key = cursor.key.copied()
            let tombstone = try Tombstone(cursor.value, key: key)
            entries.append(tombstone.entry(key: key, header.hashKey))
        }
        return entries
    }

    /// Calls `body` with every row of every chunk, hidden ones included.
    func forEachRowInChunks(_ body: (Lane, StoredRow) throws -> Void) throws {
        var cursor = try view.cursor(tables[.chunks])
        while try cursor.next() {
            let chunk = try HotChunk(cursor.value, key: cursor.key)
            for row in try allRows(chunk) { try body(chunk.key.lane, row) }
        }
    }

    /// Counts every type by reading every row. Also returns the time range that the type covers.
    func countAll() throws -> [(type: UInt32, counts: TypeCounts, starts: ClosedRange<Int64>?)] {
        var counts: [UInt32: TypeCounts] = [:]
        var starts: [UInt32: ClosedRange<Int64>] = [:]
        var cursor = try view.cursor(tables[.chunks])
        while try cursor.next() {
            let chunk = try HotChunk(cursor.value, key: cursor.key)
            let lane = chunk.key.lane
            let rows = try allRows(chunk)
            let hides = try hidden(rows, lane)
            for row in rows {
                if hides?(row) ?? false {
                    counts[lane.type, default: TypeCounts()].hidden += 1
                    continue
                }
                counts[lane.type, default: TypeCounts()].add(row, source: try revision(row.revision).sourceNumber, 1)
                let end = row.end == .max ? row.start : row.end
                let known = starts[lane.type]
                starts[lane.type] = min(known?.lowerBound ?? row.start, row.start)...max(known?.upperBound ?? end, end)
            }
        }
        return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value, starts[$0.key]) }
    }

    /// Returns the times of a chunk that several samples may share, or at which marks must be cleared.
    fileprivate func contestedTimes(_ lane: Lane, _ key: ChunkKey, _ isOn: Bool) throws -> [(start: Int64, end: Int64)]
    {
        let rows = try load(lane, key.lower).rows
        var times: [(start: Int64, end: Int64)] = []
        for (index, row) in rows.enumerated() {
            let isShared =
                index > 0 && (rows[index - 1].start, rows[index - 1].end) == (row.start, row.end)
                || index == 0 || index == rows.count - 1
            if row.isShadowed || isOn && isShared, times.last.map({ $0 != (row.start, row.end) }) ?? true {
                times.append((row.start, row.end))
            }
        }
        return times
    }
}
