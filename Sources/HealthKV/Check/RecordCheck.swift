import ColumnFormat
import HealthModel
import LMDB

/// Checks the tables of short records that belong to no other check: names, tombstones, changes, upkeep, `meta`.
struct RecordCheck {
    let log: CheckLog

    func run(_ snapshot: borrowing Snapshot) {
        checkNames(snapshot)
        checkSmallTables(snapshot)
    }

    /// Reads every record of the small tables. No live sample may have a tombstone.
    private func checkSmallTables(_ snapshot: borrowing Snapshot) {
        for table in [TableCode.tombstones, .changes, .upkeep] {
            log.forEachValue(snapshot, table) { value, key in
                switch table {
                case .tombstones:
                    let tombstone = try Tombstone(value, key: key)
                    if TombstoneTable.isByID(key), let found = try? SampleLookup.find(tombstone.id, in: snapshot),
                        !found.isHidden
                    {
                        log.add(.tombstoneOfLiveSample, table, log.place, "id \(tombstone.id)")
                    }
                case .changes: _ = try ChangeRecord(value, key: key)
                case .upkeep where key.first == UpkeepKind.intent: _ = try Intent(value, key: key)
                case .upkeep where key.first == UpkeepKind.staleHours: _ = try StaleTable.read(value, key: key)
                case .upkeep where key == SessionTable.key: _ = try SessionTable.ended(value)
                case .upkeep where key == HeaderCopy.key: _ = try HeaderCopy.read(value)
                case .upkeep where key.first == UpkeepKind.deletedContent: _ = try DeletedContent(value, key: key)
                default: _ = try RecordReader(value, table: table, key: key)
                }
            }
        }
        log.forEachValue(snapshot, .meta) { value, key in
            var record = try RecordReader(value, table: .meta, key: key)
            if key == DefinitionTable.key { _ = try DefinitionTable.read(fields: record.readBytes()) }
        }
    }

    /// Compares the two copies of each name. A copy that a newer release wrote may be that of any name.
    private func checkNames(_ snapshot: borrowing Snapshot) {
        var forward: [[UInt8]: UInt32] = [:]
        let hasNewer = log.forEachValue(snapshot, .names) { value, key in
            let name = try NameTable.read(value, .names, key: key)
            forward[[key[0]] + name.1] = name.0
        }
        let hasNewerReverse = log.forEachValue(snapshot, .namesReverse) { value, key in
            let name = try NameTable.read(value, .namesReverse, key: key)
            let number = forward.removeValue(forKey: [key[0]] + name.1)
            if number != name.0, number != nil || !hasNewer {
                log.add(.nameCopiesDiffer, .namesReverse, "number \(name.0)")
            }
        }
        if hasNewerReverse { return }
        for number in forward.values.sorted() { log.add(.nameCopiesDiffer, .names, "number \(number)") }
    }
}
