import Foundation
import Synchronization

/// Carries samples and deletions between devices of one person; the same app may run on several of them.
public final class SimulatedCloud: Sendable {
    private struct Member: Sendable {
        let device: SimulatedDevice
        /// Objects that came from elsewhere, and are not carried on.
        var foreign: Set<UUID> = []
    }

    private let members = Mutex<[Member]>([])

    /// Links devices; what they hold already is carried by the next ``sync()``.
    public init(_ devices: [SimulatedDevice]) {
        for device in devices {
            device.state.withLock { state in
                state.database.journal = state.database.all.map { .saved($0) }
            }
        }
        members.withLock { $0 = devices.map { Member(device: $0) } }
    }

    /// Carries everything once to everybody, in the order in which it was written. UUIDs and sources stay.
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

    /// Carries so many of a hundred things, in any order; the rest stays for another time.
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
            // What went again before anybody heard of it was never there for others.
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

    /// Takes what is to be carried out of the journal, and leaves the rest there.
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

    /// Takes what a cloud brings, by the rules of sync versions. Answers whether anything changed.
    func receive(_ entry: HealthDatabase.JournalEntry) -> Bool {
        let now = clock.now
        return state.withLock { state in
            // What goes with a correlation went where that was deleted or replaced, and is carried by itself.
            let takesMembers = state.database.options.deletingCorrelationDeletesMembers
            state.database.options.deletingCorrelationDeletesMembers = false
            defer { state.database.options.deletingCorrelationDeletesMembers = takesMembers }
            switch entry {
            case .deleted(let record):
                let older = record.syncKey.flatMap { state.database.tables[record.type.identifier]?.live($0) }
                // What has the same sync identifier is the same, whatever it is called here.
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
                // What comes back is no longer deleted.
                state.database.withTable(record.type) { $0.forgetDeletion(of: record.uuid) }
                let changed = state.database.save([record])
                state.observers.noteNews(of: changed, at: now)
                return !changed.isEmpty
            }
        }
    }
}

extension SimulatedDevice {
    /// Takes over what the other device keeps of two objects with one version. Answers what that was.
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
    /// What is held with the sync identifier and the version of a record.
    fileprivate func rival(of record: HealthRecord) -> HealthRecord? {
        guard let key = record.syncKey, let held = tables[record.type.identifier]?.live(key) else { return nil }
        return held.version == record.version ? held : nil
    }

    /// Where an equal version replaces, all devices keep the same of two objects with one version in the end: were each to take the
    /// other's, they would never agree. Where it is skipped, each keeps its own (A7).
    fileprivate func prefersOwn(to record: HealthRecord) -> Bool {
        guard let held = rival(of: record) else { return false }
        return !options.equalVersionReplaces || held.uuid.uuidString > record.uuid.uuidString
    }
}
