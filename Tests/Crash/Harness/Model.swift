import HealthKV

/// The reference model of a store: plain dictionaries, and the rules of saving and deleting in their simplest form.
struct Model: Sendable {
    /// The identity of a sample within its source and type.
    struct SyncKey: Hashable, Sendable {
        var source: SourceIdentity
        var type: SampleType
        var text: String
    }

    private struct Tombstone: Sendable {
        var sample: Sample
        /// A sample must have a greater version than this to be inserted again.
        let version: Int64
        var key: SyncKey?
    }

    private(set) var live: [SampleID: Sample] = [:]
    /// The ids in an array, so that one can be drawn at random.
    private(set) var ids: [SampleID] = []
    private var places: [SampleID: Int] = [:]
    private var idOfKey: [SyncKey: SampleID] = [:]
    private var tombstones: [SampleID: Tombstone] = [:]
    private var buriedKeys: [SyncKey: SampleID] = [:]
    private(set) var digest = ContentDigest()

    /// A deleted sample. The tombstones have no order, so this picks the least id above a random one.
    func deleted(near id: SampleID) -> Sample? {
        (tombstones.keys.filter { $0 >= id }.min() ?? tombstones.keys.min()).flatMap { tombstones[$0]?.sample }
    }

    private func key(of sample: Sample) -> SyncKey? {
        // The text of the sample's own id is not a separate name.
        guard let text = sample.syncIdentifier, text != sample.id.description else { return nil }
        return SyncKey(source: sample.source.identity, type: sample.type, text: text)
    }

    private mutating func put(_ sample: Sample) {
        if let old = live[sample.id] {
            take(old)
        }
        live[sample.id] = sample
        places[sample.id] = ids.count
        ids.append(sample.id)
        if let key = key(of: sample) { idOfKey[key] = sample.id }
        digest.add(sample)
    }

    private mutating func take(_ sample: Sample) {
        live[sample.id] = nil
        let place = places.removeValue(forKey: sample.id)!
        let last = ids.removeLast()
        if last != sample.id {
            ids[place] = last
            places[last] = place
        }
        if let key = key(of: sample) { idOfKey[key] = nil }
        digest.remove(sample)
    }

    /// Adds a sample of an existing store whose history is unknown.
    mutating func adopt(_ sample: Sample) {
        var sample = sample
        sample.modified = nil
        sample.isShadowed = false
        put(sample)
    }

    mutating func save(_ given: Sample) -> SaveOutcome {
        var sample = given
        if sample.source == .thisApp { sample.source = Vocabulary.ownSource }
        sample.modified = nil
        sample.isShadowed = false
        if let old = live[sample.id] ?? key(of: sample).flatMap({ idOfKey[$0] }).flatMap({ live[$0] }) {
            return replace(old, by: sample)
        }
        sample.version = max(1, sample.version)
        let buried = [sample.id] + [key(of: sample).flatMap { buriedKeys[$0] }].compactMap { $0 }
        for id in buried {
            guard let tombstone = tombstones[id] else { continue }
            if sample.version <= tombstone.version { return .vetoed }
        }
        for id in buried { forget(id) }
        if sample.syncIdentifier == nil, sample.origin == .authored { sample.syncIdentifier = sample.id.description }
        put(sample)
        return .inserted
    }

    private mutating func replace(_ old: Sample, by sample: Sample) -> SaveOutcome {
        var sample = sample
        sample.id = old.id
        sample.origin = old.origin
        sample.syncIdentifier = sample.syncIdentifier ?? old.syncIdentifier
        let isEqual = sample.contentBytes == old.contentBytes && sample.syncIdentifier == old.syncIdentifier
        if sample.version > 0, sample.version < old.version { return .older }
        if isEqual, sample.version <= old.version { return .unchanged }
        sample.version = max(sample.version, old.version + 1)
        put(sample)
        return .replaced
    }

    private mutating func forget(_ id: SampleID) {
        if let key = tombstones.removeValue(forKey: id)?.key { buriedKeys[key] = nil }
    }

    mutating func delete(_ id: SampleID, leavingTombstone: Bool = true) -> Bool {
        guard let sample = live[id] else { return false }
        take(sample)
        guard leavingTombstone else { return true }
        let key = key(of: sample)
        if let other = key.flatMap({ buriedKeys[$0] }) { forget(other) }
        // An imported sample that was deleted here stays deleted, whatever version is imported again.
        let version = sample.origin == .imported ? Sample.versionLimit : sample.version
        tombstones[id] = Tombstone(sample: sample, version: version, key: key)
        if let key { buriedKeys[key] = id }
        return true
    }

    mutating func delete(_ key: SyncKey) -> Bool { idOfKey[key].map { delete($0) } ?? false }

    mutating func deleteAll(leavingTombstones: Bool = true, where isMeant: (Sample) -> Bool) -> Int {
        let meant = live.values.filter(isMeant).map(\.id)
        for id in meant { _ = delete(id, leavingTombstone: leavingTombstones) }
        return meant.count
    }

    mutating func importBatch(_ batch: SampleBatch) -> ImportReport {
        var report = ImportReport()
        for row in 0..<batch.count {
            switch save(batch.sample(at: row)) {
            case .inserted: report.inserted += 1
            case .replaced: report.replaced += 1
            case .unchanged: report.unchanged += 1
            case .older: report.older += 1
            case .vetoed: report.vetoed += 1
            }
        }
        return report
    }
}
