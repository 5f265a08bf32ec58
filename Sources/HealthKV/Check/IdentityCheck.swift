import ColumnFormat
import HealthModel
import LMDB

/// Checks that every sample and tombstone has its entries in the index, and that no id occurs twice. This takes a few
/// passes over the samples, however many there are, and memory that hardly grows with their number. Skips chunks that
/// were reported as damaged.
///
/// An unreadable value does not end the check: the hashes of its partition are left out. Without all recent entries no
/// entry can be compared, but ids are.
struct IdentityCheck {
    let log: CheckLog
    /// The partitions of which every value can be read.
    private var partitions: [IdentityPartition] = []
    /// The ranges of hashes that are compared; `nil` for all.
    private var sound: [Range<UInt64>]?

    init(log: CheckLog) { self.log = log }

    mutating func run(_ snapshot: borrowing Snapshot, _ progress: (Double) -> Bool) {
        if !log.damagedChunks.isEmpty {
            log.report.unexamined.append("identity of the samples of \(log.damagedChunks.count) damaged chunks")
        }
        let damage = readValues(snapshot)
        do {
            try checkPartitions(snapshot, damage)
            if damage.isOfRecent {
                log.report.unexamined.append("identity index: without all recent entries none can be compared")
            } else if try IdentityIndex.recentEntries(in: snapshot).count != Int(snapshot.header.recentEntries) {
                log.add(.identityUnreadable, .identity, "the number of recent entries is wrong")
            }
            try compare(snapshot, comparesEntries: !damage.isOfRecent, progress)
        } catch {
            log.add(Finding.Kind(error, else: .identityUnreadable), .identity, "\(error)")
            log.report.unexamined.append("identity index: what compares it with the samples")
        }
    }

    /// The values that cannot be read.
    private struct Damage {
        /// The first hashes of the partitions that have such values.
        var partitions: Set<UInt64> = []
        /// Whether a recent entry is among them.
        var isOfRecent = false
    }

    /// Reads every value, and notes the partitions whose values can all be read.
    private mutating func readValues(_ snapshot: borrowing Snapshot) -> Damage {
        var read: [IdentityPartition] = []
        var damage = Damage()
        log.forEachValue(snapshot, .identity, as: .identityUnreadable, counts: false) { value, key in
            do {
                switch key.first {
                case IdentityPartition.recentTag:
                    _ = (try RecentEntry.entry(key: key), try RecentEntry.net(value, key: key))
                case IdentityPartition.blockTag:
                    let stored = try StoredValue(value, table: .identity)
                    try stored.expect(key: key)
                    var entries: [IdentityEntry] = []
                    try IdentityBlock(stored).appendAll(to: &entries)
                case IdentityPartition.tag: read.append(try IdentityPartition(value, key: key))
                default: throw FormatError(.invalid, "key of the identity index")
                }
            } catch {
                if key.first == IdentityPartition.recentTag {
                    damage.isOfRecent = true
                } else {
                    damage.partitions.insert(key.dropFirst().prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
                }
                throw error
            }
        }
        partitions = read.filter { !damage.partitions.contains($0.lower) }
        guard !damage.partitions.isEmpty else { return damage }
        sound = partitions.map { $0.lower..<max($0.lower, $0.upper) }
        let count = damage.partitions.count
        log.report.unexamined.append(
            "identity index: \(count) partition\(count == 1 ? "" : "s") with values that cannot be read")
        return damage
    }

    /// Whether an entry is compared.
    private func isCompared(_ entry: IdentityEntry) -> Bool {
        guard let sound else { return true }
        let next = (0..<sound.count).firstIndex(notPreceding: { sound[$0].upperBound <= entry.hash })
        return next < sound.count && sound[next].contains(entry.hash)
    }

    /// Compares sums of all entries first, then the entries of the buckets whose sums differ, one by one.
    private func compare(
        _ snapshot: borrowing Snapshot, comparesEntries: Bool, _ progress: (Double) -> Bool
    ) throws {
        let key = snapshot.header.hashKey
        var (expected, found) = (IdentitySums(key), IdentitySums(key))
        var repeats = RepeatFilter(count: log.report.samples)
        var scratch: [IdentityEntry] = []
        let isComplete = try forEachSoundRow(snapshot, progress, 0.6..<0.75) { lane, row in
            repeats.add(IdentityHash.of(row.id, key))
            if !comparesEntries { return }
            IdentityIndex.appendIdentity(of: row, lane, to: &scratch, in: snapshot)
            for entry in scratch where isCompared(entry) { expected.add(entry) }
            scratch.removeAll(keepingCapacity: true)
        }
        guard isComplete else { return }
        guard comparesEntries else {
            _ = try checkRepeats(snapshot, repeats, progress)
            return
        }
        for entry in try TombstoneTable.entries(in: snapshot) where isCompared(entry) { expected.add(entry) }
        for slice in try IdentityIndex.identitySlices(in: snapshot) {
            let entries = try IdentityIndex.indexedEntries(in: slice, of: partitions, in: snapshot)
            for entry in entries where isCompared(entry) { found.add(entry) }
        }
        guard progress(0.8), try checkRepeats(snapshot, repeats, progress) else { return }
        let groups = expected.groups(differingFrom: found)
        for (index, buckets) in groups.enumerated() {
            let width = 0.1 / Double(groups.count)
            let share = 0.9 + width * Double(index)..<0.9 + width * Double(index + 1)
            guard try compare(buckets, snapshot, progress, share) else { return }
        }
    }

    /// Compares the entries of some buckets one by one. Returns `false` if `progress` stopped the check.
    private func compare(
        _ buckets: Set<Int>, _ snapshot: borrowing Snapshot, _ progress: (Double) -> Bool, _ share: Range<Double>
    ) throws -> Bool {
        var expected: [IdentityEntry] = []
        var scratch: [IdentityEntry] = []
        let isComplete = try forEachSoundRow(snapshot, progress, share) { lane, row in
            IdentityIndex.appendIdentity(of: row, lane, to: &scratch, in: snapshot)
            expected += scratch.filter { buckets.contains(IdentitySums.bucket(of: $0)) && isCompared($0) }
            scratch.removeAll(keepingCapacity: true)
        }
        guard isComplete else { return false }
        expected += try TombstoneTable.entries(in: snapshot).filter {
            buckets.contains(IdentitySums.bucket(of: $0)) && isCompared($0)
        }
        expected.sort()
        var found: [IdentityEntry] = []
        for slice in IdentitySums.hashes(of: buckets) {
            found += try IdentityIndex.indexedEntries(in: slice, of: partitions, in: snapshot).filter(isCompared)
        }
        compare(expected: expected, found: found, in: snapshot)
        return true
    }

    /// Compares the ids whose hashes may have occurred twice. Returns `false` if `progress` stopped the check.
    private func checkRepeats(
        _ snapshot: borrowing Snapshot, _ repeats: RepeatFilter, _ progress: (Double) -> Bool
    ) throws -> Bool {
        guard repeats.hasRepeats else { return true }
        let key = snapshot.header.hashKey
        var ids: [SampleID] = []
        let isComplete = try forEachSoundRow(snapshot, progress, 0.8..<0.9) { _, row in
            if repeats.mayRepeat(IdentityHash.of(row.id, key)) { ids.append(row.id) }
        }
        ids.sort()
        for (left, right) in zip(ids, ids.dropFirst()) where left == right {
            log.add(.duplicateID, .details, "two samples have one id", "id \(left)")
        }
        return isComplete
    }

    /// Calls `body` with every row of the chunks that were not reported. Returns `false` if `progress` stopped the
    /// check.
    private func forEachSoundRow(
        _ snapshot: borrowing Snapshot, _ progress: (Double) -> Bool, _ share: Range<Double>,
        _ body: (Lane, StoredRow) -> Void
    ) throws -> Bool {
        let step = (share.upperBound - share.lowerBound) / Double(max(1, log.report.chunks))
        var done = 0
        var cursor = try snapshot.view.cursor(snapshot.tables[.chunks])
        while try cursor.next() {
            done += 1
            if !progress(share.lowerBound + step * Double(done)) { return false }
            let key = cursor.key.copied()
            if log.damagedChunks.contains(key) { continue }
            let chunk = try HotChunk(cursor.value, key: key.rawBytes)
            for row in try ChunkTable.allRows(chunk, in: snapshot) { body(chunk.key.lane, row) }
        }
        return true
    }

    private func checkPartitions(_ snapshot: borrowing Snapshot, _ damage: Damage) throws {
        /// Whether a partition that cannot be read accounts for hashes without a partition.
        func isExcused(_ gap: Range<UInt64>) -> Bool { damage.partitions.contains { gap.contains($0) } }
        var next: UInt64 = 0
        for partition in partitions {
            if partition.lower < next {
                log.add(.identityUnreadable, .identity, "partitions overlap")
            } else if partition.lower > next, !isExcused(next..<partition.lower) {
                log.add(.identityUnreadable, .identity, "partitions leave a gap")
            }
            next = partition.upper
            for run in partition.runs {
                var entries: [IdentityEntry] = []
                try IdentityIndex.forEachBlock(partition.lower, run.number, in: snapshot) { block in
                    try block.appendAll(to: &entries)
                }
                if UInt64(entries.count) != run.entries
                    || zip(entries, entries.dropFirst()).contains(where: { $1 < $0 })
                {
                    log.add(
                        .identityUnreadable, .identity, "run \(run.number) of a partition is not as its header says")
                }
            }
        }
        if next != 0, next < IdentityPartition.hashLimit, !isExcused(next..<IdentityPartition.hashLimit) {
            log.add(.identityUnreadable, .identity, "partitions end early")
        }
    }

    /// Compares two sorted lists. A missing entry is damage; a surplus entry only costs a look-up.
    private func compare(
        expected: [IdentityEntry], found: [IdentityEntry], in snapshot: borrowing Snapshot
    ) {
        var index = 0
        for entry in expected {
            while index < found.count, found[index] < entry {
                log.report.surplusHints += 1
                index += 1
            }
            if index < found.count, found[index] == entry {
                index += 1
            } else {
                let type = UInt32(truncatingIfNeeded: entry.kind.packed >> 16)
                let samples = (try? NameTable.type(type, in: snapshot)).map {
                    Finding.Samples(type: $0, starts: .all, count: 1)
                }
                log.add(.identityMissing, .identity, "an entry of \(CheckLog.name(type))", samples: samples)
            }
        }
        log.report.surplusHints += found.count - index
    }
}
