import Foundation

/// The samples of one device, by HealthKit's rules A2 to A13 and A27. It is pure logic, without apps or clocks.
struct HealthDatabase: Sendable {
    var options = SimulationOptions()
    private(set) var sequence: Int64 = 0
    private(set) var tables: [String: TypeTable] = [:]
    /// The owning correlation or workout of each member.
    private var owners: [UUID: UUID] = [:]
    /// Sources in the order of their first appearance (A20).
    private(set) var firstSeen: [String] = []
    /// The changes, for clouds that follow; recorded only while there are any.
    var journal: [JournalEntry]?

    enum JournalEntry: Sendable {
        case saved(HealthRecord)
        case deleted(HealthRecord)
    }

    /// Throws unless all of these records may be saved. Changes nothing (A2).
    func check(_ records: [HealthRecord], earliest: Date) throws {
        var fresh = Set<UUID>()
        for record in records {
            if table(of: record.uuid) != nil || !fresh.insert(record.uuid).inserted {
                throw HKError(.errorInvalidArgument, "The object was saved before")
            }
            if (options.earliestDateBoundsStarts ? record.start : record.end) < earliest {
                throw HKError(.errorInvalidArgument, "The sample lies before the earliest permitted date")
            }
        }
    }

    /// Saves checked records, in order. Returns the types that changed.
    mutating func save(_ records: [HealthRecord]) -> Set<String> {
        var changed = Set<String>()
        var replacements: [UUID: UUID] = [:]
        for var record in records {
            if let key = record.syncKey, let older = tables[record.type.identifier]?.live(key) {
                guard record.version > older.version || record.version == older.version && options.equalVersionReplaces
                else {
                    replacements[record.uuid] = older.uuid
                    continue
                }
                insert(&record)
                takePlace(of: older.uuid, by: record.uuid)
                leaveMembers(of: older.uuid, to: record)
                changed.formUnion(remove(older.uuid, isReplaced: true))
            } else {
                insert(&record)
            }
            changed.insert(record.type.identifier)
        }
        adopt(records, replacements)
        return changed
    }

    /// Records the owner of each saved member. A live member takes the place of one that was not inserted.
    private mutating func adopt(_ records: [HealthRecord], _ replacements: [UUID: UUID]) {
        for record in records {
            guard let members = record.content.members, table(of: record.uuid) != nil else { continue }
            let live = members.map { replacements[$0] ?? $0 }
            setMembers(of: record.uuid, live)
            for member in live { owners[member] = record.uuid }
        }
    }

    private mutating func setMembers(of owner: UUID, _ members: [UUID]) {
        guard let type = table(of: owner) else { return }
        tables[type]?.update(owner) { $0.content.members = members }
    }

    private mutating func insert(_ record: inout HealthRecord) {
        sequence += 1
        record.sequence = sequence
        if !firstSeen.contains(record.source) { firstSeen.append(record.source) }
        tables[record.type.identifier, default: TypeTable()].append(record)
        journal?.append(.saved(record))
    }

    /// Puts a replacement in the old member's place in correlations and workouts (A5).
    private mutating func takePlace(of older: UUID, by newer: UUID) {
        guard let owner = owners.removeValue(forKey: older), let record = record(owner) else { return }
        owners[newer] = owner
        setMembers(of: owner, (record.content.members ?? []).map { $0 == older ? newer : $0 })
    }

    /// Removes from the older object the members that the newer one holds. Such a member replaced one of the older
    /// object's, and must not be deleted with it.
    private mutating func leaveMembers(of older: UUID, to newer: HealthRecord) {
        guard let kept = newer.content.members, let members = record(older)?.content.members else { return }
        setMembers(of: older, members.filter { !kept.contains($0) })
    }

    func record(_ uuid: UUID) -> HealthRecord? { table(of: uuid).flatMap { tables[$0]?.record(uuid) } }

    /// Returns the type of an object; there are few types and many objects.
    private func table(of uuid: UUID) -> String? { tables.first { $0.value.has(uuid) }?.key }

    /// Deletes an object if it exists. Returns its type, and the types of members that are deleted with it.
    @discardableResult
    mutating func remove(_ uuid: UUID, at date: Date = .distantPast, isReplaced: Bool = false) -> Set<String> {
        guard let type = table(of: uuid) else { return [] }
        var types: Set<String> = [type]
        sequence += 1
        guard let removed = tables[type]?.remove(uuid, sequence: sequence, at: date) else { return [] }
        // A device that receives the replacement removes the replaced object by itself.
        if !isReplaced { journal?.append(.deleted(removed)) }
        if let owner = owners.removeValue(forKey: uuid), let record = record(owner) {
            setMembers(of: owner, (record.content.members ?? []).filter { $0 != uuid })
        }
        for member in removed.content.members ?? [] {
            owners[member] = nil
            if case .correlation = removed.content, options.deletingCorrelationDeletesMembers {
                types.formUnion(remove(member, at: date))
            }
        }
        return types
    }

    /// Records the deletion of an object that was never here.
    mutating func noteDeletion(of record: HealthRecord, at date: Date) {
        sequence += 1
        let sequence = sequence
        withTable(record.type) { $0.noteDeletion(of: record, sequence: sequence, at: date) }
    }

    /// Forgets deletions from before a date (A11).
    mutating func purgeDeletions(before date: Date) {
        for type in tables.keys { tables[type]?.purgeDeletions(before: date) }
    }

    /// Moves the live objects into new tables, in the order of writing. Clouds are not told.
    mutating func rebuild() {
        let (records, waiting) = (all, journal)
        (tables, owners, sequence) = ([:], [:], 0)
        for var record in records { insert(&record) }
        adopt(records, [:])
        journal = waiting
    }

    mutating func withTable<Answer>(_ type: HKSampleType, _ body: (inout TypeTable) -> Answer) -> Answer {
        body(&tables[type.identifier, default: TypeTable()])
    }

    var all: [HealthRecord] { tables.values.flatMap(\.live).sorted { $0.sequence < $1.sequence } }
}

extension HealthRecord.Content {
    var members: [UUID]? {
        get {
            switch self {
            case .correlation(let members): members
            case .workout(let workout): workout.members
            default: nil
            }
        }
        set {
            switch self {
            case .correlation: self = .correlation(newValue ?? [])
            case .workout(var workout):
                workout.members = newValue ?? []
                self = .workout(workout)
            default: break
            }
        }
    }
}
