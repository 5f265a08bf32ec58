import TestSupport
import Testing

@testable import HealthKV

/// Links against a dictionary, while samples come, move and go.
@Suite struct LinkModelTests {
    private struct Model {
        var links: [String: [SampleID: PeerLink]] = ["a": [:], "b": [:]]

        mutating func set(_ link: PeerLink) {
            for (sample, other) in links[link.peer]! where other.peerID == link.peerID {
                links[link.peer]![sample] = nil
            }
            links[link.peer]![link.sample] = link
        }
    }

    private struct Pool {
        var samples: [SampleID]
        var peerIDs: [SampleID]

        init(_ random: inout SeededGenerator) {
            samples = LinkTests.alike.flatMap { [$0.0, $0.1] }
            for _ in 0..<100 { samples.append(SampleID(using: &random)) }
            peerIDs = Array(samples.prefix(20))
            for _ in 0..<120 { peerIDs.append(SampleID(using: &random)) }
            for _ in 0..<3 { peerIDs.append(SampleID(high: random.next(), low: random.next())) }
        }
    }

    private static func sample(_ id: SampleID, _ random: inout SeededGenerator) -> Sample {
        var sample = Sample(
            .bodyMass, 70, .kilogram, at: .day(random.number(0..<20), random.number(0..<4) * 600), id: id)
        if random.chance(0.2) { sample.end = sample.start + 40 * 3_600 * Instant.nanosecondsPerSecond }
        return sample
    }

    /// One change of links or samples.
    private static func change(
        _ txn: inout HealthKV.WriteTransaction, _ model: inout Model, _ pool: Pool, _ random: inout SeededGenerator
    ) throws {
        let id = random.pick(pool.samples)
        switch random.number(0..<20) {
        case 0...7:
            let isSame = random.chance(0.1)
            let version = random.pick([-3, -1, 0, 1, 1 << 52 | 5 << 11 | Int64(random.number(0..<2_048))])
            let link = PeerLink(
                peer: random.pick(["a", "b"]), sample: id, peerID: isSame ? id : random.pick(pool.peerIDs),
                version: version, isProvisional: random.chance(0.5))
            try txn.setLink(link)
            model.set(link)
        case 8, 9:
            let peer = random.pick(["a", "b"])
            guard let link = try txn.link(peer: peer, sample: id) else { return }
            try txn.removeLink(link)
            model.links[peer]![id] = nil
        case 10...12: _ = try txn.save(sample(id, &random))
        case 13:
            // Deleted ones live again by a greater version.
            var sample = sample(id, &random)
            sample.version = Int64(random.number(2..<1_000))
            _ = try txn.save(sample)
        case 14: try txn.delete(id: id)
        case 15, 16: try txn.purge(id: id)
        case 17:
            let ids = Set((0..<12).map { _ in random.pick(pool.samples) })
            var batch = SampleBatch()
            for id in ids.sorted() { batch.append(sample(id, &random)) }
            _ = try txn.importBatch(batch)
        case 18 where random.chance(0.3):
            _ = try txn.delete(
                .range(of: .bodyMass, from: .day(random.number(0..<10)), to: .day(random.number(8..<20))))
        case 19 where random.chance(0.05):
            let peer = random.pick(["a", "b"])
            try txn.removePeer(peer)
            model.links[peer] = [:]
        default: break
        }
    }

    private func compare(_ store: SampleStore, _ model: Model, _ pool: Pool, _ round: Int) throws {
        try store.read { txn in
            var all: Set<PeerLink> = []
            for (peer, links) in model.links {
                let byPeerID = Dictionary(uniqueKeysWithValues: links.values.map { ($0.peerID, $0) })
                for id in pool.samples {
                    let found = try txn.link(peer: peer, sample: id)
                    #expect(found == links[id], "round \(round)")
                }
                for id in pool.peerIDs {
                    let found = try txn.link(peer: peer, peerID: id)
                    #expect(found == byPeerID[id], "round \(round)")
                }
                let listed = try txn.links(of: peer)
                #expect(listed == links.values.sorted { $0.sample < $1.sample }, "round \(round)")
                let hasLinks = try txn.hasLinks(of: peer)
                #expect(hasLinks || links.isEmpty, "round \(round)")
                all.formUnion(links.values)
            }
            var walked: Set<PeerLink> = []
            try txn.forEachLink { walked.insert($0) }
            #expect(walked == all, "round \(round)")
        }
    }

    @Test("Links are what a dictionary holds, through packing, rebuilding, failing closures and the lives of samples")
    func model() throws {
        var random = SeededGenerator()
        let pool = Pool(&random)
        var model = Model()
        var options = LinkTests.options(linkLimit: random.pick([0, 4, 40]))
        options.limits.identityBlockBytes = random.pick([300, 600, 1_200])
        options.limits.linkLevelRatio = random.pick([0, 1, 8, .max])
        let store = try SampleStore.temporary(options: options)
        var packed = 0
        for round in 0..<150 {
            var (after, seed) = (model, SeededGenerator(seed: random.next()))
            let (before, fails) = (model, random.chance(0.15))
            do {
                (after, seed) = try store.write { [seed] txn in
                    var (model, random) = (before, seed)
                    for _ in 0..<random.number(1..<40) { try Self.change(&txn, &model, pool, &random) }
                    if fails { throw Refusal() }
                    return (model, random)
                }
                model = after
            } catch is Refusal {}
            switch random.number(0..<6) {
            case 0, 1: while try store.maintain() {}
            case 2: _ = try store.maintain(budget: .microseconds(1))
            case 3 where round % 5 == 0: try store.rebuild()
            default: break
            }
            if try LinkTests.kinds(store)[.chunk] ?? 0 > 1 { packed += 1 }
            if round % 4 == 0 {
                try compare(store, model, pool, round)
                try store.expectClean()
            }
        }
        #expect(packed > 20)
        try compare(store, model, pool, 150)
        try store.expectClean()
        try store.close()
    }
}
