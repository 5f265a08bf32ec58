import ColumnFormat
import Foundation
import TestSupport
import Testing

@testable import HealthKV

/// Change records that tell no reader anything any more are forgotten; where they said that something changed stays
/// known.
@Suite("Condensing the feed")
struct FeedCondensingTests {
    private func records(_ store: SampleStore) throws -> Int {
        try store.read { txn in
            var count = 0
            try txn.forEachRecord(ofTable: "changes") { _, _ in count += 1 }
            return count
        }
    }

    @Test("Many edits of one sample leave a few records") func edits() throws {
        let options = tightOptions()
        try withStore(options: options) { store throws in
            var sample = Sample(.bodyMass, 70, .kilogram, at: .day(1))
            for index in 0..<400 {
                sample.quantity.value = 70 + Double(index) / 10
                try store.save(sample)
                if index % 50 == 0 { while try store.maintain() {} }
            }
            while try store.maintain() {}
            #expect(try records(store) < 30)
            #expect(try store.feed(since: nil).count == 1)
        }
    }

    @Test("Thousands of edits of one sample leave a small store, with the limits of an app") func manyEdits() throws {
        try withStore { store throws in
            var sample = Sample(.bodyMass, 70, .kilogram, at: .day(1))
            for index in 0..<5_000 {
                sample.quantity.value = 70 + Double(index % 400) / 10
                try store.save(sample)
                if index % 500 == 0 { while try store.maintain() {} }
            }
            while try store.maintain() {}
            #expect(try store.feed(since: nil).count == 1)
            #expect(try records(store) < 1_100)
            // Change records that nobody condensed took 140 bytes an edit.
            #expect(try store.info().liveBytes < 350_000)
            #expect(try store.check().findings.isEmpty)
        }
    }

    @Test("A store that is written one sample at a time takes at most 50 bytes a sample after upkeep")
    func bytesOfSingleWrites() throws {
        // What upkeep leaves for later is in proportion to the samples, as the limits of an app are to a million.
        let count = 6_000
        var options = SampleStore.Options()
        (options.limits.recentEntries, options.limits.changeRecords) = (64, 16)
        (options.limits.changeRecordsPerStep, options.limits.journaledCommits) = (16, 64)
        try withStore(options: options) { store throws in
            var generator = SeededGenerator(seed: 25)
            var second = 0
            for index in 0..<count {
                second += generator.number(60..<900)
                let type: SampleType = index % 4 == 0 ? .heartRate : .stepCount
                let unit: HealthUnit = index % 4 == 0 ? .countPerMinute : .count
                try store.save(Sample(type, Double(generator.number(40..<180)), unit, at: .day(0, second)))
                if index % 3_000 == 0 { while try store.maintain() {} }
            }
            while try store.maintain() {}
            #expect(try store.feed(since: nil).count == count)
            let bytes = Double(try store.info().liveBytes) / Double(count)
            #expect(bytes <= 50, "\(bytes) bytes a sample")
            #expect(try store.check().isClean)
        }
    }

    @Test("Records of samples that were saved while the feed was condensed are condensed, too")
    func savedDuringPass() throws {
        var options = tightOptions()
        (options.limits.changeRecordsPerStep, options.limits.changeRecords) = (64, 32)
        try withStore(options: options) { store throws in
            func save(_ seconds: Range<Int>) throws {
                for second in seconds { try store.save(Sample(.stepCount, 1, .count, at: .day(0, second))) }
            }
            try save(0..<500)
            while try store.maintain() {}
            try save(500..<1_000)
            _ = try store.core.onWriter { [core = store.core] in
                try core.transact { _ in }
                return try FeedCondensing.step(in: core)
            }
            #expect(store.core.condensing.withLock { $0 } != nil, "the control: a walk has begun and not ended")
            try save(1_000..<4_000)
            while try store.maintain() {}
            #expect(try records(store) < 400)
            #expect(try store.feed(since: nil).count == 4_000)
            try store.expectClean()
        }
    }

    @Test("Samples that were saved one by one share a few records, and any reader is told each of them once, in order")
    func shared() throws {
        var options = tightOptions()
        (options.limits.changeRecordsPerStep, options.limits.changeRecords) = (64, 32)
        try withStore(options: options) { store throws in
            var (ids, tokens): ([SampleID], [ChangeToken]) = ([], [])
            for index in 0..<1_000 {
                let type: SampleType = index % 3 == 0 ? .bodyMass : .stepCount
                let sample = Sample(type, Double(index), type == .bodyMass ? .kilogram : .count, at: .day(0, index))
                try store.save(sample)
                ids.append(sample.id)
                if index % 90 == 0 { tokens.append(try store.read { $0.currentToken }) }
                if index % 250 == 249 { try store.write { [id = ids[index - 100]] in _ = try $0.delete(id: id) } }
            }
            while try store.maintain() {}
            #expect(try records(store) < 64 + 1_000 / 20)
            #expect(try store.check().findings.isEmpty)
            let gone = Set([249, 499, 749, 999].map { ids[$0 - 100] })
            for (number, token) in ([nil] + tokens).enumerated() {
                let first = number == 0 ? 0 : (number - 1) * 90 + 1
                for limit in [7, 1_000] {
                    var (saved, deleted, place): ([SampleID], Set<SampleID>, ChangeToken?) = ([], [], token)
                    var hasMore = true
                    while hasMore {
                        let page = try store.read { [place] in try $0.changes(since: place, limit: limit) }
                        for change in page.changes {
                            switch change.kind {
                            case .saved(let sample): saved.append(sample.id)
                            case .deleted(let sample): deleted.insert(sample.id)
                            default: Issue.record("something else")
                            }
                            let here = FeedPlace(commit: change.token.commit, ordinal: change.token.ordinal)
                            #expect(place.map { FeedPlace(commit: $0.commit, ordinal: $0.ordinal) < here } ?? true)
                            place = change.token
                        }
                        (place, hasMore) = (page.next, page.hasMore)
                    }
                    #expect(saved == ids[first...].filter { !gone.contains($0) }, "from \(first) by \(limit)")
                    #expect(deleted.isSuperset(of: gone.filter { ids.firstIndex(of: $0)! >= first }))
                }
            }
        }
    }

    @Test(
        "A record that goes back further than those before it takes them in, and tells of its own deletions as before")
    func besideRepaired() throws {
        var options = tightOptions()
        (options.limits.changeRecordsPerStep, options.limits.changeRecords) = (16, 8)
        try withStore(options: options) { store throws in
            try store.write { try $0.setPeer(RegisteredPeer(id: "hub", registered: .day(0), lastSeen: .day(0))) }
            func save(_ minutes: Range<Int>) throws -> SampleID {
                for minute in minutes { try store.save(Sample(.stepCount, 1, .count, at: .day(0, minute))) }
                let last = Sample(.stepCount, 1, .count, at: .day(0, minutes.upperBound))
                try store.save(last)
                return last.id
            }
            let gone = try save(0..<30)
            try store.write { try $0.delete(id: gone) }
            _ = try save(31..<60)
            try store.write { try $0.acknowledge(peer: "hub", $0.currentToken) }
            _ = try save(61..<160)
            try store.write { txn in
                try txn.acknowledge(peer: "hub", txn.currentToken)
                var records: [ChangeRecord] = []
                try ChangeLog.forEachRecord(from: 0, in: txn.snapshot) { record in
                    records.append(record)
                    return true
                }
                // So a repair leaves it that found records of an older state beside the one that had replaced them.
                var repaired = records[90]
                (repaired.since, repaired.deletions) = (1, records.flatMap(\.deletions))
                repaired.spans = records[...90].flatMap(\.spans)
                try ChangeLog.put(repaired, in: &txn)
            }
            try store.expectClean()
            while try store.maintain() {}
            #expect(try records(store) < 120)
            try store.expectClean()
            #expect(try store.feed(since: nil).count >= 160)
        }
    }

    @Test("A registered reader keeps the records behind it apart, and is known to be of this file") func registered()
        throws
    {
        var options = tightOptions()
        (options.limits.changeRecordsPerStep, options.limits.changeRecords) = (64, 32)
        try withStore(options: options) { store throws in
            try store.write { try $0.setPeer(RegisteredPeer(id: "hub", registered: .day(0), lastSeen: .day(0))) }
            for index in 0..<300 { try store.save(Sample(.stepCount, 1, .count, at: .day(0, index))) }
            let token = try store.read { $0.currentToken }
            for index in 300..<600 { try store.save(Sample(.stepCount, 1, .count, at: .day(0, index))) }
            while try store.maintain() {}
            #expect(try records(store) >= 600)
            try store.write { try $0.acknowledge(peer: "hub", token) }
            for index in 600..<1_300 { try store.save(Sample(.stepCount, 1, .count, at: .day(0, index))) }
            while try store.maintain() {}
            #expect((1_000..<1_050).contains(try records(store)))
            #expect(try store.read { try $0.fit(of: token) } == .fits)
            #expect(try store.feed(since: token).count == 1_000)
        }
    }

    @Test("Edits all over a history share records too, which lead to no more chunks than before") func scattered()
        throws
    {
        var options = tightOptions()
        (options.limits.changeRecordsPerStep, options.limits.changeRecords) = (64, 32)
        try withStore(options: options) { store throws in
            var random = SeededGenerator(seed: 11)
            var samples = (0..<600).map { Sample(.bodyMass, 70, .kilogram, at: .day($0)) }
            try store.write { [samples] in try $0.save(samples) }
            let token = try store.read { $0.currentToken }
            let order = samples.indices.shuffled(using: &random).prefix(300)
            for index in order {
                samples[index].quantity.value = 80 + Double(index)
                try store.save(samples[index])
            }
            while try store.maintain() {}
            let count = try records(store)
            #expect(count < 200)
            let told = try store.feed(since: token).compactMap { change -> SampleID? in
                if case .saved(let sample) = change.kind { sample.id } else { nil }
            }
            #expect(told == order.map { samples[$0].id })
            #expect(try store.check().findings.isEmpty)
        }
    }

    @Test("Many moves of one sample leave a few records, and each reader is told what it has to do")
    func moves() throws {
        var options = tightOptions()
        options.limits.changeRecordsPerStep = 64
        try withStore(options: options) { store throws in
            var sample = Sample(.bodyMass, 70, .kilogram, at: .day(1))
            try store.save(sample)
            let token = try store.read { $0.currentToken }
            for index in 0..<200 {
                sample.start = .day(2 + index % 40)
                sample.end = sample.start
                try store.save(sample)
            }
            while try store.maintain() {}
            #expect(try records(store) < 30)
            let id = sample.id
            let changes = try store.feed(since: token)
            #expect(changes.count == 1)
            guard case .saved(let last) = changes.first?.kind else {
                Issue.record("the sample is not told of")
                return
            }
            #expect(last.id == id && last.start == sample.start)
        }
    }

    @Test("Readers who began anywhere hold what the store holds, and statistics know where to look again")
    func readers() throws {
        let isLong = ProcessInfo.processInfo.environment["HEALTHKV_LONG"] != nil
        let first = UInt64.random(in: 1_000..<1_000_000_000)
        print("seed \(first)")
        for seed in Array(1...10) + Array(first..<first + (isLong ? 1_000 : 10)) {
            var random = SeededGenerator(seed: seed)
            try withStore(options: tightOptions()) { store throws in
                let types: [SampleType] = [.bodyMass, .stepCount]
                var ids: [SampleID] = []
                /// What a reader holds, by id, and where it is.
                var readers: [(held: [SampleID: Sample], token: ChangeToken?)] = [([:], nil)]
                for round in 0..<150 {
                    let type = types[random.number(0..<2)]
                    let start = Instant.day(random.number(0..<20), random.number(0..<3))
                    let id = ids.isEmpty || random.number(0..<4) == 0 ? SampleID() : ids[random.number(0..<ids.count)]
                    switch random.number(0..<12) {
                    case 0: try store.write { _ = try $0.delete(id: id) }
                    case 1: try store.write { _ = try $0.purge(id: id) }
                    case 2 where round % 3 == 0:
                        let end = start + 3 * 86_400 * Instant.nanosecondsPerSecond
                        try store.write { _ = try $0.delete(.range(of: type, from: start, to: end)) }
                    default:
                        var sample =
                            try store.read { try $0.sample(id: id) }
                            ?? Sample(type, 1, type == .bodyMass ? .kilogram : .count, at: start, id: id)
                        sample.quantity.value = Double(random.number(1..<100))
                        sample.version += Int64(random.number(0..<2)) * 5
                        if random.number(0..<2) == 0 { (sample.start, sample.end) = (start, start) }
                        let changed = sample
                        _ = try? store.write { try $0.save(changed) }
                        ids.append(id)
                    }
                    if random.number(0..<6) == 0 { while try store.maintain() {} }
                    let index = random.number(0..<readers.count)
                    try follow(&readers[index], store)
                    if random.number(0..<10) == 0 { readers.append(readers[index]) }
                }
                while try store.maintain() {}
                let expected = try held(store)
                for index in readers.indices {
                    try follow(&readers[index], store)
                    #expect(readers[index].held == expected, "seed \(seed), reader \(index)")
                }
                var new: (held: [SampleID: Sample], token: ChangeToken?) = ([:], nil)
                try follow(&new, store)
                #expect(new.held == expected, "seed \(seed)")
            }
        }
    }

    private func held(_ store: SampleStore) throws -> [SampleID: Sample] {
        var held: [SampleID: Sample] = [:]
        for type in [SampleType.bodyMass, .stepCount] {
            for sample in try store.read({ try $0.samples(SampleQuery(type, includeShadowed: true)) }) {
                held[sample.id] = plain(sample)
            }
        }
        return held
    }

    private func plain(_ sample: Sample) -> Sample {
        var sample = sample
        sample.isShadowed = false
        return sample
    }

    private func follow(_ reader: inout (held: [SampleID: Sample], token: ChangeToken?), _ store: SampleStore) throws {
        var hasMore = true
        while hasMore {
            let (token, limit) = (reader.token, 7)
            let page = try store.read { try $0.changes(since: token, limit: limit) }
            for change in page.changes {
                switch change.kind {
                case .saved(let sample): reader.held[sample.id] = plain(sample)
                case .deleted(let deleted): reader.held[deleted.id] = nil
                case .removedRange(let range): reader.held = reader.held.filter { !range.covers($0.value) }
                case .interrupted: break
                }
            }
            (reader.token, hasMore) = (page.next, page.hasMore)
        }
    }

    @Test("What a forgotten record touched is still known to have changed") func spans() throws {
        try withStore(options: tightOptions()) { store throws in
            var sample = Sample(.stepCount, 100, .count, at: .day(10))
            try store.save(sample)
            let token = try store.read { $0.currentToken }
            // It leaves the day for another, and from there goes on and on.
            for index in 0..<100 {
                (sample.start, sample.end) = (.day(40 + index), .day(40 + index))
                try store.save(sample)
            }
            while try store.maintain() {}
            var utc = Calendar(identifier: .gregorian)
            utc.timeZone = .gmt
            let query = StatisticsQuery(.stepCount, by: .day, from: .day(10), to: .day(11), calendar: utc)
            #expect(
                try store.read {
                    try TouchingChanges.touch([query.type: query.touchedRange], since: token, in: $0.snapshot)
                })
        }
    }
}
