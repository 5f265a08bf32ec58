import Foundation
import Testing
import TestSupport

@testable import HealthKV

/// The feed of changes by pages (DESIGN "Commits and changes").
@Suite struct ChangeFeedTests {
    private let phone = Source(bundle: "org.example.phone", name: "Phone")
    private let watch = Source(bundle: "org.example.watch", name: "Watch")

    private func steps(_ value: Double, _ day: Int, _ second: Int = 0, source: Source? = nil) -> Sample {
        Sample(.stepCount, value, .count, at: .day(day, second), source: source ?? phone)
    }

    @Test("Changes come in the order in which they were made, not in that of their times") func order() throws {
        try withStore(options: tightOptions()) { store throws in
            var random = SeededGenerator(seed: 11)
            let samples = (0..<300).map { steps(Double($0), $0) }.shuffled(using: &random)
            for part in 0..<10 {
                let group = Array(samples[part * 30..<part * 30 + 30])
                try store.write { try $0.save(group) }
            }
            let feed = try store.feed()
            #expect(feed.compactMap { $0.saved?.id } == samples.map(\.id))
            #expect(zip(feed, feed.dropFirst()).allSatisfy { $0.token < $1.token })
        }
    }

    @Test("A sample that changed several times appears once, at its last place and as it stands") func once() throws {
        try withStore { store throws in
            var first = steps(1, 1)
            let second = steps(2, 2)
            try store.save(first)
            try store.save(second)
            first.quantity.value = 10
            try store.save(first)
            first.quantity.value = 100
            try store.save(first)
            let feed = try store.feed()
            #expect(feed.compactMap { $0.saved?.id } == [second.id, first.id])
            #expect(feed.last?.saved?.quantity.value == 100)
            #expect(feed.last?.saved?.version == 3)
        }
    }

    @Test("A page that ends inside a commit goes on there, whatever the limit", arguments: [1, 2, 7, 64, 999, 5_000])
    func limits(limit: Int) throws {
        try withStore(options: tightOptions()) { store throws in
            let starts = (0..<1_500).map { Instant.day(0, $0 * 60) }
            let batch = try SampleBatch(
                .stepCount, .count, source: phone, starts: starts, values: (0..<1_500).map { Double($0) },
                ids: (0..<1_500).map { _ in SampleID() })
            try store.importBatch(batch)
            let gone = batch.ids[100..<110]
            let moved = Array(batch.ids[200..<205])
            try store.write { txn in
                for id in gone { try txn.delete(id: id) }
                for id in moved {
                    guard var sample = try txn.sample(id: id) else { throw Refusal() }
                    sample.start = sample.start + 86_400_000_000_000
                    sample.end = sample.start
                    try txn.save(sample)
                }
                try txn.delete(.range(of: .stepCount, from: .day(0, 300 * 60), to: .day(0, 310 * 60)))
            }
            let whole = try store.feed(limit: 100_000)
            let paged = try store.feed(limit: limit)
            #expect(paged == whole)
            #expect(whole.compactMap(\.saved).count == 1_480)
            #expect(whole.compactMap(\.deleted).map(\.id) == Array(gone))
            #expect(whole.compactMap(\.removal).count == 1)
            let page = try store.read { try $0.changes(since: nil, limit: limit) }
            #expect(page.changes.count <= limit)
        }
    }

    @Test("Every place in the feed is a token to go on from") func everyPlace() throws {
        try withStore(options: tightOptions()) { store throws in
            let samples = (0..<40).map { steps(Double($0), $0) }
            try store.write { try $0.save(Array(samples[..<25])) }
            try store.write { txn in
                try txn.delete(id: samples[3].id)
                try txn.save(Array(samples[25...]))
            }
            let whole = try store.feed()
            for (index, change) in whole.enumerated() {
                #expect(try store.feed(since: change.token, limit: 3) == Array(whole[(index + 1)...]))
            }
            #expect(try store.feed(since: store.read { $0.currentToken }).isEmpty)
        }
    }

    @Test("A deletion carries identity and version, and what was made and deleted since shows as deleted only")
    func deletions() throws {
        try withStore { store throws in
            var sample = steps(5, 1)
            sample.syncIdentifier = "walk-1"
            try store.save(sample)
            let token = try store.read { $0.currentToken }
            sample.quantity.value = 6
            try store.save(sample)
            let brief = steps(9, 2)
            try store.save(brief)
            let (known, short) = (sample.id, brief.id)
            try store.write { txn in
                try txn.delete(id: known)
                try txn.delete(id: short)
            }
            let feed = try store.feed(since: token)
            #expect(feed.compactMap(\.saved).isEmpty)
            let deleted = try #require(feed.compactMap(\.deleted).first)
            #expect(deleted.id == sample.id)
            #expect(deleted.syncIdentifier == "walk-1")
            #expect(deleted.version == 2)
            #expect(deleted.type == .stepCount)
            #expect(deleted.source == phone.identity)
            #expect(feed.compactMap { $0.deleted?.id } == [sample.id, brief.id])
        }
    }

    @Test("A mass operation is one change, at once and when its steps are done") func removals() throws {
        try withStore(options: tightOptions()) { store throws in
            let mine = (0..<60).map { steps(Double($0), 0, $0 * 60) }
            let others = (0..<5).map { steps(Double($0), 0, $0 * 60 + 7, source: watch) }
            try store.write { try $0.save(mine + others) }
            let token = try store.read { $0.currentToken }
            let gone = phone.identity
            #expect(try store.write { try $0.delete(.source(gone)) } == 60)
            let late = steps(1, 3)
            try store.save(late)
            for isFinished in [false, true] {
                if isFinished { while try store.maintain() {} }
                let feed = try store.feed(since: token, limit: 1)
                #expect(feed.count == 2)
                #expect(feed.first?.removal?.source == phone.identity)
                #expect(feed.first?.removal?.covers(mine[0]) == true)
                #expect(feed.first?.removal?.covers(others[0]) == false)
                #expect(feed.last?.saved?.id == late.id)
                #expect(try store.feed().compactMap { $0.saved?.id } == others.map(\.id) + [late.id])
            }
        }
    }

    @Test("A reader of some types sees their changes only, and a sample that leaves them as gone") func types() throws {
        try withStore { store throws in
            let weight = Sample(.bodyMass, 70, .kilogram, at: .day(1))
            var energy = Sample(.activeEnergyBurned, 10, .kilocalorie, at: .day(1))
            try store.write { [energy] txn in
                try txn.save([weight, energy, self.steps(1, 1)])
            }
            let token = try store.read { $0.currentToken }
            #expect(try store.feed(of: [.bodyMass]).compactMap { $0.saved?.id } == [weight.id])
            #expect(try store.feed(of: []).isEmpty)
            #expect(try store.feed(of: [SampleType("never.seen")]).isEmpty)
            // Only a record of another writer changes the type.
            (energy.type, energy.version) = (.basalEnergyBurned, 2)
            let record = energy
            _ = try store.write { try $0.merge(record) }
            let noted = try store.feed(since: token, of: [.activeEnergyBurned])
            #expect(noted.compactMap { $0.deleted?.id } == [energy.id])
            #expect(try store.feed(since: token, of: [.basalEnergyBurned]).compactMap { $0.saved?.id } == [energy.id])
            #expect(try store.feed(since: token).compactMap { $0.saved?.id } == [energy.id])
        }
    }

    @Test("Tokens of another store, another epoch or the future are refused") func foreign() throws {
        try withStore { store throws in
            try store.save(steps(1, 1))
            let own = try store.read { $0.currentToken }
            let other = try SampleStore.temporary()
            let foreign = try other.read { $0.currentToken }
            try other.close()
            expectError(.tokenExpired) { try store.feed(since: foreign) }
            let past = ChangeToken(
                store: own.store, epoch: own.epoch + 1, commit: own.commit, ordinal: own.ordinal, mark: own.mark)
            expectError(.tokenExpired) { try store.feed(since: past) }
            let ahead = ChangeToken(
                store: own.store, epoch: own.epoch, commit: own.commit + 9, ordinal: 0, mark: own.mark)
            expectError(.tokenExpired) { try store.feed(since: ahead) }
            let forked = ChangeToken(
                store: own.store, epoch: own.epoch, commit: own.commit, ordinal: own.ordinal, mark: own.mark ^ 1)
            expectError(.tokenExpired) { try store.feed(since: forked) }
        }
    }

    @Test("Tombstones are kept for their days and for every peer; then older tokens expire") func expiry() throws {
        let clock = TestClock()
        var options = tightOptions(clock)
        options.tombstoneDays = 30
        let day: Int64 = 86_400_000_000_000
        try withStore(options: options) { store throws in
            let samples = (0..<30).map { steps(Double($0), $0) }
            try store.write { try $0.save(samples) }
            let token = try store.read { $0.currentToken }
            try store.write { txn in
                for sample in samples[..<15] { try txn.delete(id: sample.id) }
                let now = Instant.day(0)
                try txn.setPeer(RegisteredPeer(id: "tablet", registered: now, lastSeen: now))
            }
            func upkeep() throws { while try store.maintain() {} }
            clock.advance(by: 29 * day)
            try upkeep()
            #expect(try store.read { try $0.deletedSample(id: samples[0].id) } != nil)
            // Old enough, but a peer has not seen them.
            clock.advance(by: 2 * day)
            try upkeep()
            #expect(try store.feed(since: token).compactMap(\.deleted).count == 15)
            try store.write { try $0.acknowledge(peer: "tablet", $0.currentToken) }
            clock.advance(by: 2 * day)
            try upkeep()
            // Its own commit is not yet among what the peer saw when it acknowledged the one before.
            let seen = try store.read { $0.currentToken }
            try store.write { try $0.acknowledge(peer: "tablet", seen) }
            clock.advance(by: 2 * day)
            try upkeep()
            #expect(try store.read { try $0.deletedSample(id: samples[0].id) } == nil)
            expectError(.tokenExpired) { try store.feed(since: token) }
            #expect(try store.feed(since: seen).isEmpty)
            #expect(try store.feed().compactMap(\.saved).count == 15)
            #expect(try store.save(samples[0]) == .inserted, "a forgotten deletion vetoes no more")
        }
    }

    @Test("A clock that jumps ahead forgets no tombstone, and one that was ahead does not end forgetting")
    func wrongClock()
        throws
    {
        let clock = TestClock()
        var options = tightOptions(clock)
        options.tombstoneDays = 30
        let day: Int64 = 86_400_000_000_000
        try withStore(options: options) { store throws in
            let samples = (0..<3).map { steps(Double($0), $0) }
            try store.write { try $0.save(samples) }
            try store.write { _ = try $0.delete(id: samples[0].id) }
            func upkeep() throws { while try store.maintain() {} }
            func isKept(_ number: Int) throws -> Bool {
                try store.read { try $0.deletedSample(id: samples[number].id) } != nil
            }
            clock.advance(by: 4_000 * day)
            try upkeep()
            #expect(try isKept(0))
            // A change stamps what that clock says. Each day, thirty are believed to have passed.
            try store.write { _ = try $0.delete(id: samples[1].id) }
            try upkeep()
            #expect(try isKept(0) && isKept(1))
            clock.advance(by: 2 * day)
            try upkeep()
            #expect(try !isKept(0) && isKept(1))
            // Then the clock is put right.
            clock.advance(by: -3_990 * day)
            try store.write { _ = try $0.delete(id: samples[2].id) }
            clock.advance(by: 40 * day)
            try upkeep()
            #expect(try !isKept(2))
        }
    }

    @Test("A clock that is years ahead for a week forgets no tombstone, and one that is right again does later")
    func wrongClockForAWeek() throws {
        let clock = TestClock()
        let day: Int64 = 86_400_000_000_000
        try withStore(options: tightOptions(clock)) { store throws in
            let sample = steps(1, 1)
            try store.save(sample)
            try store.write { _ = try $0.delete(id: sample.id) }
            func isKept() throws -> Bool { try store.read { try $0.deletedSample(id: sample.id) } != nil }
            func live(days: Int) throws {
                for _ in 0..<days {
                    clock.advance(by: day)
                    try store.save(Sample(.bodyMass, 70, .kilogram, at: clock.now))
                    while try store.maintain() {}
                }
            }
            for _ in 0..<3 {
                clock.advance(by: 3 * 365 * day)
                try live(days: 7)
                clock.advance(by: -3 * 365 * day)
                try live(days: 7)
            }
            #expect(try isKept())
            try live(days: 400)
            #expect(try !isKept())
        }
    }

    @Test("A position midway in the feed is refused by a file that was put back to a state from before it was read")
    func midwayBeforeRollback() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        // Nothing beside the data tells that the file was put back.
        var options = SampleStore.Options()
        options.limits.ignoresPlace = true
        var store = try SampleStore.open(at: path, options: options)
        let samples = (0..<3).map { steps(Double($0), $0) }
        for sample in samples { try store.save(sample) }
        try store.close()
        try FileManager.default.copyItem(atPath: path + "/data.mdb", toPath: folder.path + "/copy")
        store = try SampleStore.open(at: path, options: options)
        try store.write { _ = try $0.delete(id: samples[0].id) }
        let page = try store.read { try $0.changes(since: nil, limit: 1) }
        // The reader passes over the deleted sample: a later page reports the deletion.
        #expect(page.hasMore && page.changes.compactMap(\.saved).map(\.id) == [samples[1].id])
        #expect(ChangeToken(page.next.description)?.description == page.next.description)
        #expect(try store.read { try $0.fit(of: page.next) } == .fits)
        try store.save(steps(9, 9))
        #expect(try store.read { try $0.fit(of: page.next) } == .fits)
        try store.close()
        try FileManager.default.removeItem(atPath: path + "/data.mdb")
        try FileManager.default.copyItem(atPath: folder.path + "/copy", toPath: path + "/data.mdb")
        store = try SampleStore.open(at: path, options: options)
        #expect(try store.read { try $0.sample(id: samples[0].id) } != nil)
        #expect(try store.read { try $0.fit(of: page.next) } == .ahead)
        for number in 4..<8 { try store.save(steps(Double(number), number)) }
        #expect(try store.read { try $0.fit(of: page.next) } == .forked)
        expectError(.tokenExpired) { try store.feed(since: page.next) }
        try store.close()
    }

    @Test("A token survives as text, and what is no token is none") func text() throws {
        let store = try SampleStore.temporary()
        try store.save(steps(1, 1))
        let page = try store.read { try $0.changes(since: nil, limit: 1) }
        for token in [page.next, page.changes[0].token, try store.read { $0.currentToken }] {
            #expect(ChangeToken(token.description) == token)
        }
        for text in [
            "", "kv1", "kv1:x:1:1:1:1", "kv2:\(SampleID()):1:1:1:1", "kv1:\(SampleID()):1:9:1:7:3",
            "kv1:\(SampleID()):1:1:1", "kv1:a:b:c:d:e:f", "kv1:\(SampleID()):1:9:1:7:9:0",
            "kv1:\(SampleID()):1:9:1:7:12:13", "kv1:\(SampleID()):1:9:1:7:12:9",
        ] {
            #expect(ChangeToken(text) == nil)
        }
        try store.close()
    }
}

/// Pages of one large commit.
@Suite struct LargeCommitFeedTests {
    @Test("Reading a large commit page by page looks at each chunk a few times, not once a page") func proportional()
        throws
    {
        try withStore(options: tightOptions()) { store throws in
            let count = 4_000
            var random = SeededGenerator(seed: 9)
            // Values that cannot be packed make many chunks.
            let batch = try SampleBatch(
                .stepCount, .count, source: Source(name: "S"), starts: (0..<count).map { .day(0, $0 * 60) },
                values: (0..<count).map { _ in Double.random(in: 0..<1, using: &random) },
                ids: (0..<count).map { _ in SampleID() })
            try store.importBatch(batch)
            try store.read { txn in
                let record = try #require(try txn.snapshot.changeRecord(txn.currentToken.commit))
                let regions = try FeedPositions.feedIndex(of: record, in: txn.snapshot).regions
                #expect(regions.count > 100)
                var looked = 0
                var after = FeedPlace(commit: record.commit, ordinal: 0)
                for _ in 0..<count / 40 {
                    let (found, keys, _) = try FeedPositions.candidates(
                        of: record, after: after, limit: 40, nil, in: txn.snapshot)
                    looked += keys.count
                    after = found.map(\.place).sorted()[39]
                }
                #expect(Int(after.ordinal) == count)
                #expect(looked < 6 * regions.count)
            }
        }
    }

    @Test("An index of a commit serves later snapshots, and never an older one") func snapshots() throws {
        try withStore(options: tightOptions()) { store throws in
            var random = SeededGenerator(seed: 3)
            let samples = (0..<800).map { Sample(.stepCount, Double($0), .count, at: .day($0)) }.shuffled(
                using: &random)
            try store.write { try $0.save(samples) }
            try store.read { old in
                let before = samples.map(\.id)
                // A later snapshot indexes the commit when a part of it is gone or has moved into other chunks.
                for sample in samples[100..<300] { try store.write { try $0.delete(id: sample.id) } }
                let more = (0..<800).map { Sample(.stepCount, Double($0), .count, at: .day($0, 5)) }
                try store.write { try $0.save(more) }
                let saved = try store.feed(limit: 37).compactMap { $0.saved?.id }
                #expect(saved == Array(before[..<100] + before[300...]) + more.map(\.id))
                var ids: [SampleID] = []
                var token: ChangeToken?
                while true {
                    let page = try old.changes(since: token, limit: 37)
                    ids += page.changes.compactMap { $0.saved?.id }
                    token = page.next
                    if !page.hasMore { break }
                }
                #expect(ids == before)
            }
            #expect(try store.feed(limit: 11).count == store.feed().count)
        }
    }
}

extension Snapshot {
    /// What a commit left in the feed.
    fileprivate func changeRecord(_ commit: UInt64) throws -> ChangeRecord? {
        let key = ChangeLog.key(commit)
        guard let span = try view.get(tables[.changes], key) else { return nil }
        return try ChangeRecord(span, key: key)
    }
}
