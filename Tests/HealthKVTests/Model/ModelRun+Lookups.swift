@testable import HealthKV

/// Lookups by identity, tombstones and summaries, compared with the model's.
extension ModelRun {
    func anyIDs() -> [SampleID] {
        let dead = model.gravesByID.keys.sorted()
        return [anyLive()?.id, dead.isEmpty ? nil : random.pick(dead), SampleID(using: &random), .zero, .max]
            .compactMap(\.self)
    }

    func anySyncIdentifiers() -> Set<String> {
        [anyLive()?.syncIdentifier ?? "", random.pick(pool.syncIdentifiers), "nobody"]
    }

    func compareLookups<Reading: SampleReading & ~Copyable>(
        _ txn: borrowing Reading, ids: [SampleID], sync: Set<String>
    ) throws {
        for id in ids {
            let found = try txn.sample(id: id)
            try compare(found.map { [$0] } ?? [], model.sample(id).map { [$0] } ?? [], "sample \(id)")
        }
        for text in sync {
            let found = try txn.samples(syncIdentifier: text)
            try compareSets(found, model.samples(syncIdentifier: text), "sync identifier \(text)")
            for sample in found {
                let one = try txn.sample(syncIdentifier: text, type: sample.type, source: sample.source.identity)
                try compare(one.map { [$0] } ?? [], [sample], "sync identifier \(text) of a type and source")
            }
        }
    }

    func compareGroups<Reading: SampleReading & ~Copyable>(_ txn: borrowing Reading) throws {
        for group in pool.groups + ["none"] {
            try compareSets(try txn.samples(group: group), model.samples(group: group), "group \(group)")
        }
    }

    private func compareSets(_ found: [Sample], _ expected: [Sample], _ what: String) throws {
        try compare(found.sorted { $0.id < $1.id }, expected.sorted { $0.id < $1.id }, what)
    }

    /// Each deleted sample is known as such, and no other. What an unfinished mass operation has not reached yet vetoes
    /// all the same, but has no record.
    func compareTombstones<Reading: SampleReading & ~Copyable>(_ txn: borrowing Reading) throws {
        for (id, grave) in model.gravesByID {
            guard let deleted = try txn.deletedSample(id: id) else {
                let found = try SampleLookup.find(id, in: txn.snapshot)
                try expect(found?.isHidden ?? false, "no tombstone of \(id)")
                continue
            }
            let isSame =
                deleted.type == grave.type && deleted.source == grave.source && deleted.version == grave.version
                && deleted.syncIdentifier == grave.syncIdentifier && deleted.modified == grave.clock
            try expect(isSame, "tombstone of \(id): \(deleted), not \(grave)")
        }
        for id in model.live.keys {
            let deleted = try txn.deletedSample(id: id)
            try expect(deleted == nil, "a tombstone of the live sample \(id)")
        }
    }

    func compareSummaries<Reading: SampleReading & ~Copyable>(_ txn: borrowing Reading) throws {
        let types = try txn.types()
        let expected = Set(model.live.values.map(\.type))
        try expect(types.map(\.type.shortName) == expected.map(\.shortName).sorted(), "types: \(types.map(\.type))")
        for summary in types {
            let all = model.all(summary.type)
            let isSame =
                summary.samples == all.count && summary.shadowed == all.count(where: \.isShadowed)
                && summary.first == all.first?.start && summary.last == all.last?.start
                && Set(summary.sources) == Set(all.map(\.source.identity)) && summary.bytes > 0
            try expect(isSame, "\(summary)")
        }
        var seen: [SourceIdentity] = []
        for summary in try txn.sources() where summary.samples > 0 {
            seen.append(summary.source)
            let all = model.live.values.filter { $0.source.identity == summary.source }
            let isSame =
                summary.samples == all.count && summary.first == all.map(\.start).min()
                && summary.last == all.map(\.start).max() && Set(summary.types) == Set(all.map(\.type))
                && Set(summary.revisions).isSuperset(of: all.map(\.source))
            try expect(isSame, "\(summary)")
        }
        let live = Set(model.live.values.map(\.source.identity))
        try expect(seen == model.sources.filter { live.contains($0) }, "order of sources: \(seen)")
    }
}
