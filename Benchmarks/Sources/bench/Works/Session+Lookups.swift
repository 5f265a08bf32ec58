import HealthKV
import Histories

extension Session {
    /// Looks up whole samples spread over the store, alternating with ids that do not exist, in one read transaction.
    func measureLookups() throws {
        note("lookup_uuid")
        let picks = history.picks(20_000)
        var random = SplitMix64(seed: settings.seed, stream: 41)
        func queries(_ parity: Int) -> [SampleID] {
            let hits = picks.enumerated().filter { $0.offset % 2 == parity }.map(\.element.id)
            return (hits + hits.map { _ in SampleID(using: &random) }).shuffled(using: &random)
        }
        // Half of the picks are for warming up: they map pages without touching the measured samples.
        let warming = queries(1)
        let wanted = Dictionary(uniqueKeysWithValues: picks.map { ($0.id, $0) })
        try measureLookups(.lookup, queries(0), warming, wanted) { ids, visit in
            try self.store.lookUp(ids, visit)
            return true
        }
    }

    /// The same by sync identifier. Profile `plain` has none, so some weights with sync identifiers are added.
    func measureSyncLookups() throws {
        note("lookup_sync_id")
        var wanted: [String: Sample] = [:]
        func collect(_ sample: Sample) {
            if let text = sample.syncIdentifier, wanted.count < 20_000 { wanted[text] = sample }
        }
        if settings.profile == .plain {
            let count = max(100, min(20_000, settings.samples / 10))
            for batch in History(.weight, samples: count, seed: settings.seed) {
                _ = try store.importBatch(batch)
                for row in 0..<batch.count { collect(batch.sample(at: row)) }
            }
            try store.finishImport()
        } else {
            for batch in history { for row in batch.extras.keys.sorted() { collect(batch.sample(at: row)) } }
        }
        guard !wanted.isEmpty else { return }
        var random = SplitMix64(seed: settings.seed, stream: 42)
        func queries(_ parity: Int) -> [String] {
            let hits = wanted.keys.sorted().enumerated().filter { $0.offset % 2 == parity }.map(\.element)
            return (hits + hits.map { _ in SampleID(using: &random).description }).shuffled(using: &random)
        }
        let warming = queries(1)
        try measureLookups(.lookupSync, queries(0), warming, wanted) {
            try self.store.lookUp(syncIdentifiers: $0, $1)
        }
    }

    /// Slow contestants answer only the first questions, and only these are compared for all.
    private func measureLookups<Key: Hashable>(
        _ work: Work, _ keys: [Key], _ warming: [Key], _ wanted: [Key: Sample],
        _ lookUp: ([Key], (Int, UInt64, Sample?) -> Void) throws -> Bool
    ) throws {
        let few = min(200, keys.count)
        let (seconds, canDo) = try Stopwatch.seconds { try lookUp(Array(warming.prefix(few))) { _, _, _ in } }
        if !canDo { return }
        let isQuick = seconds / Double(few) * Double(keys.count) < settings.budget
        if isQuick { _ = try lookUp(warming) { _, _, _ in } }
        let asked = isQuick ? keys : Array(keys.prefix(few))
        var found: [Sample?] = Array(repeating: nil, count: asked.count)
        var (all, hits, misses) = (Latencies(), Latencies(), Latencies())
        for reserved in [asked.count] {
            all.reserve(reserved)
            hits.reserve(reserved)
            misses.reserve(reserved)
        }
        _ = try lookUp(asked) { index, time, sample in
            all.add(time)
            if sample == nil { misses.add(time) } else { hits.add(time) }
            found[index] = sample
        }
        var digest = Digest()
        for (index, (key, sample)) in zip(asked, found).enumerated() {
            if index == few { try send("\(work.rawValue)#\(few)", digest) }
            let expected = wanted[key]
            guard sample?.contentBytes == expected?.contentBytes, sample?.syncIdentifier == expected?.syncIdentifier,
                sample?.id == expected?.id
            else { throw BenchFailure("\(work.rawValue): a sample differs from the one that was imported") }
            if let sample { digest.add(sample) }
        }
        try send(isQuick ? work.rawValue : "\(work.rawValue)#\(few)", digest)
        try send(work.rawValue, all)
        try send(work.rawValue + ".hit", hits)
        try send(work.rawValue + ".miss", misses)
    }
}
