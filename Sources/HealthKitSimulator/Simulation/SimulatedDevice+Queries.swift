import Foundation

/// The parameters of an anchored query.
struct AnchoredQuestion {
    let types: [(type: HKSampleType, rule: SampleRule)]
    let after: Int64
    let limit: Int
}

struct AnchoredAnswer {
    var added: [HealthRecord] = []
    var deleted: [DeletedRecord] = []
    var sequence: Int64 = 0
}

extension SimulatedDevice {
    /// Returns the changes that are strictly newer than an anchor, in the order of writing (A12).
    func changes(_ question: AnchoredQuestion, for app: SimulatedApp) throws -> AnchoredAnswer {
        try perform(.changes) { state in
            if state.isLocked { throw HKError.locked }
            var answer = AnchoredAnswer()
            for (type, rule) in question.types {
                let isVisible = try state.visibility(type, for: app)
                let earliest = state.earliest
                let asksDeleted = !state.database.options.deletionsIgnorePredicates
                state.database.tables[type.identifier]?.additions(after: question.after) { record in
                    if isVisible(record), record.end >= earliest, rule.picks(record) { answer.added.append(record) }
                    return answer.added.count >= question.limit
                }
                state.database.tables[type.identifier]?.deletions(after: question.after) { deletion in
                    if isVisible(deletion.record), !asksDeleted || rule.picks(deletion.record) {
                        answer.deleted.append(deletion)
                    }
                    return answer.deleted.count >= question.limit
                }
            }
            answer.cut(to: question.limit, countsDeletions: state.database.options.limitCountsDeletions)
            answer.place(
                after: question.after, end: state.database.sequence,
                passesInvisible: state.database.options.anchorsPassInvisible)
            return answer
        }
    }

    func samples(
        _ type: HKSampleType, _ rule: SampleRule, latest: Int?, call: SimulatedCall = .samples, for app: SimulatedApp
    ) throws -> [HealthRecord] {
        try perform(call) { state in
            if state.isLocked { throw HKError.locked }
            let isVisible = try state.visibility(type, for: app)
            let earliest = state.earliest
            let isWanted = { (record: HealthRecord) in
                isVisible(record) && record.end >= earliest && rule.picks(record)
            }
            guard let latest else {
                return state.database.withTable(type) { $0.overlapping(rule.from, rule.to) }.filter(isWanted)
            }
            return state.database.withTable(type) { table in
                table.latest(latest, reachingInto: rule.from, to: rule.to, isWanted)
            }
        }
    }

    /// Returns a record as an app reads it, with the members that the app may see.
    func sample(_ record: HealthRecord, for app: SimulatedApp) -> HKSample {
        var record = record
        let members = state.withLock { state in
            if state.database.options.samplesFollowSourceName, let name = state.apps[record.source]?.name,
                name != record.revision.source.name
            {
                record.revision = record.revision.named(name)
            }
            return (record.content.members ?? []).compactMap { state.database.record($0) }.filter { member in
                (try? state.visibility(member.type, for: app))?(member) ?? false
            }
        }
        switch record.content {
        case .quantity(let value, let unit):
            return HKQuantitySample(record, quantity: HKQuantity(unit: unit, doubleValue: value))
        case .category(let value): return HKCategorySample(record, value: value)
        case .correlation: return HKCorrelation(record, objects: Set(members.map { sample($0, for: app) }))
        case .workout(let workout): return HKWorkout(record, workout, members: members)
        case .none: return HKSample(record)
        }
    }
}

extension AnchoredAnswer {
    /// Cuts both lists at the same place in the order of writing, so that nothing is skipped.
    mutating func cut(to limit: Int, countsDeletions: Bool) {
        added.sort { $0.sequence < $1.sequence }
        deleted.sort { $0.sequence < $1.sequence }
        var end = Int64.max
        if countsDeletions {
            let places = (added.map(\.sequence) + deleted.map(\.sequence)).sorted()
            // Each list was cut at the limit separately, so even exactly this many entries may not be all.
            if places.count >= limit { end = places[limit - 1] }
        } else {
            if added.count >= limit { end = added[limit - 1].sequence }
            if deleted.count >= limit { end = min(end, deleted[limit - 1].sequence) }
        }
        added.removeAll { $0.sequence > end }
        deleted.removeAll { $0.sequence > end }
        sequence = end
    }

    /// Sets the place where the next query continues.
    mutating func place(after: Int64, end: Int64, passesInvisible: Bool) {
        if sequence != .max { return }
        let last = max(added.last?.sequence ?? after, deleted.last?.sequence ?? after)
        sequence = passesInvisible ? max(end, after) : last
    }
}

extension TypeTable {
    /// Returns the wanted samples with the latest starts, at most `limit`.
    mutating func latest(
        _ limit: Int, reachingInto start: Date, to end: Date, _ isWanted: (HealthRecord) -> Bool
    ) -> [HealthRecord] {
        var found: [HealthRecord] = []
        latestFirst(from: reach(start), to: end) { record in
            if isWanted(record) { found.append(record) }
            return found.count >= limit
        }
        return found
    }
}
