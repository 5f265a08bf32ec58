import Testing

@testable import HealthKV

@Suite("Deletions that peers are told of")
struct PeerDeletionTests {
    private func samples(_ count: Int, _ type: SampleType, _ unit: HealthUnit) -> [Sample] {
        (0..<count).map { Sample(type, 1, unit, at: .day(1, $0)) }
    }

    /// All pages of what a mass operation deleted, or of all deletions.
    private func pages(
        _ store: SampleStore, _ token: ChangeToken? = nil, limit: Int
    ) throws -> [[DeletedSample]] {
        var page = try store.read { try $0.deletions(at: token, limit: limit) }
        var pages = [page.deletions]
        while let next = page.next {
            page = try store.read { try $0.deletions(at: token, after: next, limit: limit) }
            pages.append(page.deletions)
        }
        return pages
    }

    @Test("Pages of what a mass operation deleted have all of it once, and nothing else") func pages() throws {
        try withStore { store throws in
            let (water, steps) = (samples(25, .dietaryWater, .milliliter), samples(30, .stepCount, .count))
            try store.write { _ = try $0.save(water + steps) }
            let start = try store.read { $0.currentToken }
            try store.write { _ = try $0.deleteRange(of: .dietaryWater) }
            try store.write { _ = try $0.deleteRange(of: .stepCount, to: .day(1, 20)) }
            try store.write { _ = try $0.delete(id: steps[29].id) }
            let removals = try store.feed(since: start).filter { $0.removal != nil }
            #expect(removals.count == 2)
            for limit in [1, 7, 25, 100] {
                let found = try removals.map { try pages(store, $0.token, limit: limit) }
                #expect(found.allSatisfy { $0.allSatisfy { $0.count <= limit } })
                #expect(found[0].joined().map(\.id) == water.map(\.id).sorted())
                #expect(found[1].joined().map(\.id) == steps[..<20].map(\.id).sorted())
                #expect(try pages(store, limit: limit).joined().count == 46)
            }
        }
    }

    @Test("A mass operation is unfinished until its own steps are done") func unfinished() throws {
        var options = SampleStore.Options()
        options.limits.removedAtOnce = 4
        options.maintainsWhenIdle = false
        try withStore(options: options) { store throws in
            let (water, steps) = (samples(25, .dietaryWater, .milliliter), samples(3, .stepCount, .count))
            try store.write { _ = try $0.save(water + steps) }
            let start = try store.read { $0.currentToken }
            try store.write { _ = try $0.deleteRange(of: .dietaryWater) }
            try store.write { _ = try $0.deleteRange(of: .stepCount) }
            let tokens = try store.feed(since: start).filter { $0.removal != nil }.map(\.token)
            #expect(try store.read { txn in tokens.map { txn.isUnfinished(removalAt: $0) } } == [true, false])
            while try store.read({ $0.isUnfinished(removalAt: tokens[0]) }) { try store.maintain() }
            #expect(try pages(store, tokens[0], limit: 10).joined().count == 25)
        }
    }

    @Test(
        "A deletion of a version that no sample can have is refused",
        arguments: [Int64.min, -1, Sample.versionLimit + 1, .max])
    func impossibleVersion(version: Int64) throws {
        try withStore { store throws in
            let sample = Sample(.bodyMass, 72, .kilogram, at: .day(1), source: Source(name: "App"))
            try store.save(sample)
            func deletion(_ version: Int64) -> DeletedSample {
                DeletedSample(
                    id: sample.id, type: .bodyMass, source: sample.source.identity, syncIdentifier: nil,
                    version: version, modified: ChangeClock(time: .day(2), replica: 9))
            }
            let refused = deletion(version)
            expectError(.invalidSample) { try store.write { try $0.merge(refused) } }
            if version > 0 {
                expectError(.invalidSample) { try store.write { try $0.delete(id: sample.id, version: version) } }
            }
            #expect(try store.read { try $0.sample(id: sample.id) } != nil)
            let greatest = deletion(Sample.versionLimit)
            #expect(try store.write { try $0.merge(greatest) })
            #expect(try store.save(sample) == .vetoed)
        }
    }
}
