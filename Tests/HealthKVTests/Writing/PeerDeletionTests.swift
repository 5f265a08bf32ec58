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

    @Test(
        "A deletion made here covers what it deletes, however far ahead the clock was that stamped it, and the original of what came back",
        arguments: ["one", "range", "source", "told by a peer"])
    func coversClockAhead(_ how: String) throws {
        let now = Instant(nanoseconds: 800_000_000_000_000_000)
        var options = SampleStore.Options()
        options.clock = { now }
        let distances: [Int64] = [0, 60, 5 * 365 * 86_400]
        for ahead in distances {
            try withStore(options: options) { store throws in
                var original = Sample(.bodyMass, 80, .kilogram, at: .day(1, 0))
                (original.version, original.source) = (1, Source(bundle: "scale", name: "Scale"))
                let time = now + ahead * Instant.nanosecondsPerSecond
                original.modified = ChangeClock(time: time, replica: .max)
                // What came back from a database of health is a nanosecond older.
                var copy = original
                copy.modified = ChangeClock(time: time - 1, replica: .max)
                let (held, source) = (copy, copy.source.identity)
                try store.write { _ = try $0.merge(held) }
                try store.write { txn in
                    switch how {
                    case "one": _ = try txn.delete(id: held.id)
                    case "range": _ = try txn.delete(.range(of: .bodyMass))
                    case "source": _ = try txn.delete(.source(source))
                    default:
                        _ = try txn.purge(id: held.id)
                        let deleted = DeletedSample(
                            id: held.id, type: held.type, source: source, syncIdentifier: nil, version: 0,
                            modified: try #require(held.modified))
                        try txn.raise(deleted, to: held.version)
                    }
                }
                while try store.maintain() {}
                let again = original
                #expect(try store.write { try $0.merge(again) } == .vetoed, "\(how), \(ahead) s ahead")
                #expect(try store.read { try $0.sample(id: again.id) } == nil)
            }
        }
    }

    @Test("Pages of what a mass operation deleted have all of it once, and nothing else") func pages() throws {
        try withStore { store throws in
            let (water, steps) = (samples(25, .dietaryWater, .milliliter), samples(30, .stepCount, .count))
            try store.write { _ = try $0.save(water + steps) }
            let start = try store.read { $0.currentToken }
            try store.write { _ = try $0.delete(.range(of: .dietaryWater)) }
            try store.write { _ = try $0.delete(.range(of: .stepCount, to: .day(1, 20))) }
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
            try store.write { _ = try $0.delete(.range(of: .dietaryWater)) }
            try store.write { _ = try $0.delete(.range(of: .stepCount)) }
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
