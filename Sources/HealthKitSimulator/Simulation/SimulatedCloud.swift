import Foundation
import Synchronization

/// Carries samples and deletions between the devices of one person. The same app may run on several of them.
public final class SimulatedCloud: Sendable {
    private struct Member: Sendable {
        let device: SimulatedDevice
        /// Objects that came from other devices and are not carried on.
        var foreign: Set<UUID> = []
    }

    private let members = Mutex<[Member]>([])

    /// Links devices. The next ``sync()`` carries the samples that they already hold.
    public init(_ devices: [SimulatedDevice]) {
        for device in devices {
            device.state.withLock { state in
                state.database.journal = state.database.all.map { .saved($0) }
            }
        }
        members.withLock { $0 = devices.map { Member(device: $0) } }
    }

    /// Carries every change once to every device, in the order of writing. UUIDs and sources stay the same.
    public func sync() {
        members.withLock { members in
            for index in members.indices {
                let entries = members[index].device.takeJournal { entries in (entries, []) }
                SimulatedCloud.carry(entries, from: index, &members)
            }
            for one in members.indices {
                for other in members.indices where other != one {
                    members[other].foreign.formUnion(members[other].device.agree(with: members[one].device))
                }
            }
        }
        for member in members.withLock({ $0 }) { member.device.deliver() }
    }

    /// Carries the given percentage of the changes, in any order. The rest waits for another time.
    public func sync(percent: Int, using random: inout some RandomNumberGenerator) {
        members.withLock { members in
            for index in members.indices {
                let entries = members[index].device.takeJournal { entries in
                    var (taken, left): ([HealthDatabase.JournalEntry], [HealthDatabase.JournalEntry]) = ([], [])
                    for entry in entries {
                        if Int.random(in: 0..<100, using: &random) < percent {
                            taken.append(entry)
                        } else {
                            left.append(entry)
                        }
                    }
                    return (taken.shuffled(using: &random), left)
                }
                SimulatedCloud.carry(entries, from: index, &members)
            }
        }
        for member in members.withLock({ $0 }) { member.device.deliver() }
    }

    private static func carry(_ entries: [HealthDatabase.JournalEntry], from index: Int, _ members: inout [Member]) {
        let device = members[index].device
        for entry in entries {
            // An object that was deleted before it was carried never existed for other devices.
            let isNews = !members[index].foreign.contains(entry.uuid) && device.holds(entry.uuid)
            guard isNews || entry.isDeletion else { continue }
            for other in members.indices where other != index {
                if members[other].device.receive(entry), !entry.isDeletion {
                    members[other].foreign.insert(entry.uuid)
                }
            }
        }
    }
}

extension HealthDatabase.JournalEntry {
    var uuid: UUID {
        switch self {
        case .saved(let record): record.uuid
        case .deleted(let record): record.uuid
        }
    }
    var isDeletion: Bool { if case .deleted = self { true } else { false } }
}

extension SimulatedDevice {
    fileprivate func holds(_ uuid: UUID) -> Bool { state.withLock { $0.database.record(uuid) != nil } }

    /// Takes the changes to carry from the journal, and leaves the rest there.
    fileprivate func takeJournal(
        _ split: ([HealthDatabase.JournalEntry]) -> (
            taken: [HealthDatabase.JournalEntry], left: [HealthDatabase.JournalEntry]
        )
    ) -> [HealthDatabase.JournalEntry] {
        state.withLock { state in
            let (taken, left) = split(state.database.journal ?? [])
            state.database.journal = left
            return taken
        }
    }

    /// Applies a change that a cloud brings, by the rules of sync versions. Returns `true` if anything changed.
    func receive(_ entry: HealthDatabase.JournalEntry) -> Bool {
        let now = clock.now
        return state.withLock { state in
            // A correlation's members were deleted with it on the device where it was deleted or replaced. Their
            // deletions are carried separately.
            let takesMembers = state.database.options.deletingCorrelationDeletesMembers
            state.database.options.deletingCorrelationDeletesMembers = false
            defer { state.database.options.deletingCorrelationDeletesMembers = takesMembers }
            switch entry {
            case .deleted(let record):
                let older = record.syncKey.flatMap { state.database.tables[record.type.identifier]?.live($0) }
                // An object with the same sync identifier is the same object, whatever its UUID here.
                let isOlder = older.map { $0.version <= record.version } ?? false
                let gone = state.database.record(record.uuid)?.uuid ?? (isOlder ? older?.uuid : nil)
                if let gone {
                    state.remove([gone], at: now)
                    return true
                }
                guard state.database.options.cloudTellsUnseenDeletions else { return false }
                state.database.noteDeletion(of: record, at: now)
                state.observers.noteNews(of: [record.type.identifier], at: now)
                return true
            case .saved(let record):
                guard state.database.record(record.uuid) == nil, !state.database.prefersOwn(to: record) else {
                    return false
                }
                // An object that comes back is no longer deleted.
                state.database.withTable(record.type) { $0.forgetDeletion(of: record.uuid) }
                let changed = state.database.save([record])
                state.observers.noteNews(of: changed, at: now)
                return !changed.isEmpty
            }
        }
    }
}

extension SimulatedDevice {
    /// Takes over the other device's choice between two objects with the same version. Returns the objects that were
    /// taken over.
    fileprivate func agree(with other: SimulatedDevice) -> [UUID] {
        guard options.equalVersionReplaces else { return [] }
        let theirs = other.state.withLock { $0.database.all.filter { $0.syncKey != nil } }
        return theirs.filter { record in
            let isRival = state.withLock { state in
                guard let held = state.database.rival(of: record) else { return false }
                return held.uuid != record.uuid
            }
            return isRival && receive(.saved(record))
        }.map(\.uuid)
    }
}

extension HealthDatabase {
    /// Returns the held object with the sync identifier and the version of a record.
    fileprivate func rival(of record: HealthRecord) -> HealthRecord? {
        guard let key = record.syncKey, let held = tables[record.type.identifier]?.live(key) else { return nil }
        return held.version == record.version ? held : nil
    }

    /// Returns `true` if this device keeps its own object instead of one with the same version. If an equal version
    /// replaces, all devices finally keep the same of the two objects: if each took the other's, they would never
    /// agree. If it is skipped, each keeps its own (A7).
    fileprivate func prefersOwn(to record: HealthRecord) -> Bool {
        guard let held = rival(of: record) else { return false }
        return !options.equalVersionReplaces || held.uuid.uuidString > record.uuid.uuidString
    }
}
