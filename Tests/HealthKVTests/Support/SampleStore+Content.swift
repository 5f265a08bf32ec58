@testable import HealthKV

extension SampleStore {
    /// A digest of all live samples with all their fields and of the order of their sources, whatever the layout.
    func digest() throws -> [UInt8] {
        try read { txn in
            var hash = SHA256()
            var encoder = CanonicalEncoder()
            for source in try txn.sources() where source.samples > 0 {
                encoder.append(source.source.bundle)
                encoder.append(source.source.name)
            }
            for type in try txn.types().map(\.type).sorted() {
                try txn.forEachSample(SampleQuery(type, includeShadowed: true)) { sample in
                    encoder.encode(sample)
                    hash.update(encoder.bytes)
                    encoder.removeAll()
                    return true
                }
            }
            return hash.finalize()
        }
    }

    /// The whole feed behind a token, read by pages of at most `limit` changes.
    func feed(
        since token: ChangeToken? = nil, limit: Int = 1_000, of types: Set<SampleType>? = nil
    ) throws -> [Change] {
        var changes: [Change] = []
        var place = token
        while true {
            let from = place
            let page = try read { try $0.changes(since: from, limit: limit, of: types) }
            changes += page.changes
            place = page.next
            guard page.hasMore else { return changes }
        }
    }

    /// Demands that the counts by type and by source agree with the samples themselves.
    func counts() throws -> (types: [SampleType: Int], sources: [SourceIdentity: Int]) {
        try read { txn in
            let types = try txn.types().map { ($0.type, $0.samples) }
            let sources = try txn.sources().filter { $0.samples > 0 }.map { ($0.source, $0.samples) }
            return (Dictionary(uniqueKeysWithValues: types), Dictionary(uniqueKeysWithValues: sources))
        }
    }

    /// The same by looking at every sample.
    func countedSamples() throws -> (types: [SampleType: Int], sources: [SourceIdentity: Int]) {
        try read { txn in
            var types: [SampleType: Int] = [:]
            var sources: [SourceIdentity: Int] = [:]
            for type in SampleType.catalog {
                try txn.forEachSample(SampleQuery(type, includeShadowed: true)) { sample in
                    types[type, default: 0] += 1
                    sources[sample.source.identity, default: 0] += 1
                    return true
                }
            }
            return (types, sources)
        }
    }
}

extension Change {
    /// The saved sample, if that is what the change tells of.
    var saved: Sample? { if case .saved(let sample) = kind { sample } else { nil } }
    /// The deleted sample, if that is what the change tells of.
    var deleted: DeletedSample? { if case .deleted(let sample) = kind { sample } else { nil } }
    /// The mass operation, if that is what the change tells of.
    var removal: RangeRemoval? { if case .removedRange(let removal) = kind { removal } else { nil } }
}

/// Small chunks and no work of their own accord: a small history meets every border, and a test decides when steps are
/// done.
func tightOptions(_ clock: TestClock? = nil) -> SampleStore.Options {
    var options = SampleStore.Options()
    options.limits.chunkBytes = 480
    options.limits.comparesWrittenChunks = true
    options.limits.identityBlockBytes = 600
    options.limits.removedAtOnce = 20
    options.limits.chunksPerStep = 1
    options.limits.tombstonesPerStep = 10
    options.limits.importLookups = 8
    options.limits.changeRecords = 12
    options.limits.changeRecordsPerStep = 5
    options.maintainsWhenIdle = false
    if let clock { options.clock = { clock.now } }
    return options
}
