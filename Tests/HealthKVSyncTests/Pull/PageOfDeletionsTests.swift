import SyncSupport
import TestSupport
import Testing

@testable import HealthKVSync

@Suite("Deletions of a page")
struct PageOfDeletionsTests {
    private static let ids = (0..<40).map { SampleID(high: UInt64($0 + 1) << 32 | 0x4000, low: 1 << 63) }
    /// What the peer calls samples of this app: no sample of others has such a name.
    private static let namesOfOwn = (0..<10).map { SampleID(high: UInt64($0 + 100) << 32 | 0x4000, low: 1 << 63) }
    private static let peers = ["health", "other"]

    private func makeStore(_ clock: ManualClock) throws -> SampleStore {
        let store = try Bench.makeStore(clock) { options in
            options.limits.draw = { 7 }
            options.limits.chunkBytes = 480
        }
        let now = clock.now
        try store.write { txn in
            for name in Self.peers {
                let rule = QueueRule(types: nil, takesImports: name == "other")
                try txn.setPeer(RegisteredPeer(name: name, registered: now, lastSeen: now, queue: rule))
            }
        }
        return store
    }

    private func foreign(_ type: SampleType, _ from: Instant, _ random: inout SeededGenerator) -> Sample {
        let start = from + Int64(random.number(0..<50)) * 600_000_000_000
        let sync = random.chance(0.3) ? "scale-\(random.number(0..<15))" : nil
        return Sample(
            type, Double(random.number(1..<200)), type == .stepCount ? .count : .kilogram, from: start,
            to: start + Int64(random.pick([0, 60])) * 1_000_000_000,
            source: Source(bundle: random.pick(["scale", "watch"]), name: "Scale"), id: random.pick(Self.ids),
            syncIdentifier: sync, version: sync == nil ? 0 : Int64(random.number(1..<4)), origin: .imported)
    }

    private func deletion(_ own: [SampleID], _ random: inout SeededGenerator) -> PulledDeletion {
        let id = random.chance(0.85) ? random.pick(Self.ids + Self.namesOfOwn) : SampleID(using: &random)
        guard random.chance(0.4) else { return PulledDeletion(peerID: id) }
        let text =
            random.chance(0.5) && !own.isEmpty ? random.pick(own).description : "scale-\(random.number(0..<15))"
        let version: Int64 = random.chance(0.5) ? Int64(random.number(1..<4)) : PeerNumber.last(version: 2)
        return PulledDeletion(peerID: id, syncIdentifier: text, version: random.chance(0.9) ? version : nil)
    }

    private func page(_ type: SampleType, _ own: [SampleID], _ now: Instant, _ random: inout SeededGenerator)
        -> PullPage
    {
        var additions: [PulledSample] = []
        for _ in 0..<random.number(0..<30) {
            let sample = foreign(type, now - Int64(200_000) * 1_000_000_000, &random)
            if !additions.contains(where: { $0.peerID == sample.id }) { additions.append(PulledSample(sample)) }
        }
        return PullPage(
            additions: additions, deletions: (0..<random.number(0..<50)).map { _ in deletion(own, &random) },
            token: [1], isDrained: random.chance(0.6))
    }

    /// What the app and others do between two pages.
    private func disturb(_ txn: inout WriteTransaction, _ type: SampleType, _ own: [SampleID], _ draws: [UInt64]) throws
    {
        var draws = draws[...]
        func draw(_ limit: Int) -> Int { Int(draws.popFirst()! % UInt64(limit)) }
        let id = Self.ids[draw(Self.ids.count)]
        switch draw(6) {
        case 0: try txn.overlay(id: id) { $0.quantity.value += 1 }
        case 1:
            try txn.setLink(
                PeerLink(peer: "health", sample: id, peerID: Self.ids[draw(40)], version: Int64(draw(4)) - 3))
        case 2:
            let name = Self.namesOfOwn[draw(Self.namesOfOwn.count)]
            try txn.setLink(
                PeerLink(
                    peer: "health", sample: own[draw(own.count)], peerID: name, version: 1, isProvisional: draw(2) == 0)
            )
        case 3: try txn.delete(id: own[draw(own.count)])
        case 4:
            if var edit = try txn.sample(id: own[draw(own.count)]) {
                edit.quantity.value += 1
                // An edit may take an identifier that what a peer brought has too: that is refused.
                _ = try? txn.save(edit)
            }
        default: break
        }
    }

    private func content(_ store: SampleStore, _ own: [SampleID]) throws -> [String] {
        try store.read { txn in
            var lines: [String] = []
            for type: SampleType in [.stepCount, .bodyMass] {
                lines += try txn.samples(SampleQuery(type, includeShadowed: true)).map { "\($0)" }
            }
            lines += try txn.deletions(limit: 10_000).deletions.map { "\($0)" }
            for peer in Self.peers {
                lines += try txn.links(of: peer).map { "\($0)" }.sorted()
                lines += try txn.pending(for: peer).map { "\($0.kind) \($0.sample) \($0.version) \($0.isSent)" }
                    .sorted()
            }
            for id in Self.ids + own { lines.append("\(try txn.sample(id: id)?.version as Any)") }
            for number in 0..<15 {
                let text = "scale-\(number)"
                lines.append("\(try txn.samples(syncIdentifier: text).map(\.id).sorted())")
            }
            lines += try txn.audit().map { "\($0.event) \($0.sample)" }.sorted()
            return lines
        }
    }

    @Test("Together they come to what they come to one by one", arguments: 0..<4)
    func togetherIsSingle(part: Int) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed), part \(part)")
        var random = SeededGenerator(seed: seed, part: part)
        let clock = ManualClock()
        let type: SampleType = random.pick([.stepCount, .bodyMass])
        let (whole, single) = (try makeStore(clock), try makeStore(clock))
        let own = (0..<12).map { _ in SampleID(using: &random) }
        let now = clock.now
        for store in [whole, single] {
            try await store.write { txn in
                for (index, id) in own.enumerated() {
                    try txn.save(
                        Sample(
                            type, 70, type == .stepCount ? .count : .kilogram,
                            at: now - Int64(index) * 3_600_000_000_000, id: id))
                }
            }
        }
        let plan = SyncPlan(types: [type: TypePlan(.both, conflicts: random.pick([.deletionWins, .editWins]))])
        let fresh = PageApplier(
            peer: "health", feed: type, plan: plan, now: now, state: TypeState(),
            ownSource: whole.ownSource.identity, zone: "UTC", blockSize: 10_000, stored: { $0 })
        var states = (whole: TypeState(), single: TypeState())
        for round in 0..<12 {
            let page = page(type, own, now, &random)
            let draws = (0..<12).map { _ in random.next() }
            let before = states
            states.whole = try await whole.write { txn in
                for _ in 0..<2 { try disturb(&txn, type, own, draws) }
                var applier = fresh
                applier.state = before.whole
                try applier.apply(page, in: &txn)
                return applier.state
            }
            states.single = try await single.write { txn in
                for _ in 0..<2 { try disturb(&txn, type, own, draws) }
                var applier = fresh
                applier.state = before.single
                try singly(page, &applier, in: &txn)
                return applier.state
            }
            let (left, right) = (try content(whole, own), try content(single, own))
            guard left == right else {
                let difference = zip(left, right).first { $0 != $1 }
                Issue.record("seed \(seed), part \(part), round \(round): \(String(describing: difference))")
                break
            }
        }
        for store in [whole, single] {
            let report = try store.check()
            #expect(report.findings.isEmpty, "seed \(seed), part \(part): \(report.findings)")
            try store.close()
        }
    }

    /// A page as it is applied where each deletion is carried out before the next is looked at.
    private func singly(_ page: PullPage, _ applier: inout PageApplier, in txn: inout WriteTransaction) throws {
        try txn.receiving(from: "health") { txn in
            try applier.applySamples(page.additions, isFed: true, in: &txn)
            let waiting = applier.state.waiting.latest
            if page.isDrained { applier.state.waiting.latest = [] }
            for deletion in page.deletions {
                let alone = PullPage(additions: [], deletions: [deletion], token: nil, isDrained: page.isDrained)
                try applier.applyDeletions(alone, in: &txn)
            }
            if page.isDrained { for deletion in waiting { try applier.apply([deletion], in: &txn) } }
        }
        applier.state.noteArrival(isEnd: page.isDrained, at: applier.now)
    }
}
