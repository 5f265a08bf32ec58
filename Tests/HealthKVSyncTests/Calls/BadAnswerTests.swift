import SyncSupport
import Synchronization
import Testing

@testable import HealthKVSync

@Suite("What a peer answers badly is ignored, told and tried again")
struct BadAnswerTests {
    private static let spoilings: [@Sendable ([PushOutcome]) -> [PushOutcome]] = [
        { _ in [] }, { $0.dropLast() }, { $0 + [.done()] }, { $0 + $0 + $0 },
        { Array($0.dropLast()) + [PushOutcome.refused(reason: String(repeating: "x", count: 65_537))] },
        { Array($0.dropLast()) + [PushOutcome.failed(reason: String(repeating: "é", count: 32_769))] },
        { outcomes in
            let id = SampleID()
            return outcomes.map { _ in .done(idAtPeer: id) }
        },
    ]

    @Test(
        "Too few outcomes, too many, endless reasons and one id for all acknowledge nothing of the feed, and it is sent again",
        arguments: spoilings.indices)
    func outcomesOfFeed(spoiling: Int) async throws {
        let trial = try BadStoreTrial()
        try await trial.engine.enable("there")
        try await trial.sync()
        try trial.save(3)
        trial.peer.set { $0.outcomes = BadAnswerTests.spoilings[spoiling] }
        let seen = try trial.here.blockingRead { try $0.peer("there")?.acknowledged }
        let report = try await trial.sync()
        #expect(report.issue?.code == .badAnswer)
        #expect(report.pushed.done == 0)
        #expect(try trial.here.blockingRead { try $0.peer("there")?.acknowledged } == seen)
        #expect(try trial.engine.status().peers["there"]?.issue?.code == .badAnswer)
        trial.peer.set { $0.outcomes = nil }
        let whole = try await trial.sync()
        #expect(whole.issue == nil && whole.pushed.done == 3)
        #expect(try trial.there.blockingRead { try $0.count(of: .bodyMass) } == 3)
        try trial.finish()
    }

    @Test(
        "Too few outcomes, too many, endless reasons and one id for all leave every operation in its queue, to be sent again",
        arguments: spoilings.indices)
    func outcomesOfQueue(spoiling: Int) async throws {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        try await trial.sync()
        for index in 0..<3 { _ = try trial.bench.save(70 + Double(index), hour: index) }
        trial.peer.set { $0.outcomes = BadAnswerTests.spoilings[spoiling] }
        let report = try await trial.sync()
        #expect(report.issue?.code == .badAnswer)
        #expect(try trial.bench.pending.count == 3)
        #expect(try trial.bench.pending.allSatisfy { $0.isSent && $0.attempts == 1 })
        trial.peer.set { $0.outcomes = nil }
        #expect(try await trial.sync().issue == nil)
        #expect(try trial.bench.pending.isEmpty)
        #expect(trial.bench.held == [70, 71, 72])
        try trial.bench.finish()
    }

    @Test("A running engine asks a feed that fails in its own time, however long what may have been sent waits for it")
    func failingFeed() async throws {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        try await trial.sync()
        _ = try trial.bench.save(72)
        trial.peer.set { $0.outcomes = { _ in [] } }
        try await trial.sync()
        #expect(try trial.bench.pending.map(\.isSent) == [true])
        trial.peer.set { $0.outcomes = nil }
        trial.bench.health.set(failure: { _ in PeerError(.transient, "busy") })
        trial.bench.clock.advance(seconds: 3_600)
        let before = trial.peer.count("pull")
        trial.engine.start()
        try await until("the feed that fails") { trial.peer.count("pull") > before }
        _ = try await trial.bench.restingCommit()
        let (pulls, commit) = (trial.peer.count("pull"), try trial.bench.store.info().commit)
        try await Task.sleep(for: .milliseconds(500))
        #expect(trial.peer.count("pull") - pulls <= 1)
        #expect(try trial.bench.store.info().commit - commit <= 2)
        await trial.engine.stop()
        trial.bench.health.set(failure: nil)
        trial.bench.clock.advance(seconds: 3_600)
        try await trial.sync()
        #expect(trial.bench.held == [72])
        #expect(try trial.bench.pending.isEmpty)
        try trial.bench.finish()
    }

    @Test("A push whose outcomes do not fit is the last of its pass") func onePushOnly() async throws {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        try await trial.sync()
        for index in 0..<5 { _ = try trial.bench.save(70 + Double(index), hour: index) }
        trial.peer.set { $0.outcomes = { _ in [] } }
        let engine = Bench.makeEngine(
            trial.bench.store, [SyncPeer(trial.peer, plan: .weightTracker)], trial.bench.clock
        ) { $0.pushSize = 1 }
        _ = try await engine.sync()
        #expect(trial.peer.count("push") == 1)
        try trial.bench.finish()
    }

    @Test(
        "A feed that goes on and does not move is asked once, told, and asked again after a while",
        arguments: ["unmoved", "circle", "none", "same page"])
    func standing(kind: String) async throws {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        try await trial.sync()
        if kind == "same page" { trial.bench.health.save(trial.bench.scale(80, hour: 1)) }
        let turns = Mutex(0)
        trial.peer.set {
            $0.page = { page, request in
                var page = page
                page.isDrained = false
                let turn = turns.withLock { turns in
                    turns += 1
                    return turns
                }
                switch kind {
                case "unmoved", "same page": page.token = request.token
                case "circle": page.token = Array("1:\(turn % 2)".utf8)
                default: page.token = nil
                }
                return page
            }
        }
        let (pulls, commits) = (trial.peer.count("pull"), try trial.bench.store.info().commit)
        trial.bench.engine.start()
        await trial.bench.engine.stop()
        let report = try await trial.sync()
        #expect(report.issue?.code == .badAnswer)
        #expect(trial.peer.count("pull") - pulls <= 4)
        #expect(try trial.bench.store.info().commit - commits < 16)
        let next = try #require(try trial.engine.session(trial.bench.peer).schedule.nextDue())
        #expect(next >= trial.bench.clock.now + .seconds(1))
        trial.peer.set { $0.page = nil }
        #expect(try await trial.sync().issue == nil)
        try trial.bench.finish()
    }

    @Test("A running engine asks a feed that does not move a few times, and then slowly") func backOff() async throws {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        try await trial.sync()
        trial.peer.set {
            $0.page = { page, request in
                var page = page
                (page.isDrained, page.token) = (false, request.token)
                return page
            }
        }
        let pulls = trial.peer.count("pull")
        trial.engine.start()
        for attempt in 1...3 {
            try await until("attempt \(attempt)") {
                trial.peer.count("pull") - pulls == attempt && !trial.bench.clock.sleepers.isEmpty
            }
            #expect(try trial.bench.status().issue?.code == .badAnswer)
            trial.bench.clock.advance(seconds: 10)
        }
        try await until("the slow timer") {
            trial.bench.clock.sleepers.allSatisfy { $0 > trial.bench.clock.now + .seconds(1_000) }
                && !trial.bench.clock.sleepers.isEmpty
        }
        #expect(trial.peer.count("pull") - pulls == 3)
        await trial.engine.stop()
        try trial.bench.finish()
    }

    @Test("Pages without content and without end come to one") func endlessEmptiness() async throws {
        var progress = FeedProgress()
        var place: [UInt8]?
        for number in 0..<FeedProgress.emptyLimit - 1 {
            let next = Array("\(number)".utf8)
            try progress.note("feed", from: place, to: next, isEmpty: true)
            place = next
        }
        #expect(throws: PeerError.self) { try progress.note("feed", from: place, to: [1], isEmpty: true) }
        // It may go on from there at another time.
        try progress.note("feed", from: [1], to: [2], isEmpty: true)
    }

    @Test("A feed that is read from its beginning again goes in no circle") func againFromTheBeginning() throws {
        var progress = FeedProgress()
        for _ in 0..<3 {
            try progress.note("feed", from: nil, to: [1], isEmpty: false)
            try progress.note("feed", from: [1], to: [2], isEmpty: false)
        }
        #expect(throws: PeerError.self) { try progress.note("feed", from: [2], to: [1], isEmpty: false) }
    }

    @Test(
        "A page that breaks the protocol is ignored whole",
        arguments: [
            "type", "owners", "token",
        ]) func pages(kind: String) async throws
    {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        try await trial.sync()
        trial.bench.health.save(trial.bench.scale(80, hour: 1))
        trial.peer.set {
            $0.page = { page, _ in
                var page = page
                switch kind {
                case "type": page.additions[0].sample.type = .leanBodyMass
                case "owners":
                    page.additions.append(page.additions[0])
                    page.additions[0].isOwn = true
                default: page.token = Array(repeating: 7, count: 100_000)
                }
                return page
            }
        }
        #expect(try await trial.sync().issue?.code == .badAnswer)
        #expect(try trial.bench.weights.isEmpty)
        trial.peer.set { $0.page = nil }
        #expect(try await trial.sync().issue == nil)
        #expect(try trial.bench.weights == [80])
        try trial.bench.finish()
    }

    @Test(
        "An enumeration that breaks the protocol is ignored whole, and told",
        arguments: [
            "type", "window", "order", "cursor", "unmoved",
        ]) func enumerations(kind: String) async throws
    {
        let trial = try BadAnswerTrial()
        trial.bench.health.save(trial.bench.scale(80, hour: 1))
        trial.bench.health.save(trial.bench.scale(81, hour: 2))
        trial.peer.set {
            $0.enumeration = { page, request in
                var page = page
                guard page.samples.count == 2 || kind == "unmoved" || kind == "cursor" else { return page }
                switch kind {
                case "type": page.samples[0].sample.type = .leanBodyMass
                case "window": page.samples[0].sample.start = request.window.from - .seconds(60)
                case "order": page.samples.reverse()
                case "cursor": page.cursor = Array(repeating: 7, count: 100_000)
                default: page.cursor = [1]
                }
                return page
            }
        }
        try await trial.engine.enable(trial.bench.peer)
        #expect(try await trial.sync().issue?.code == .badAnswer)
        #expect(trial.peer.count("enumerate") < 10)
        trial.peer.set { $0.enumeration = nil }
        #expect(try await trial.sync().issue == nil)
        #expect(try trial.bench.weights.sorted() == [80, 81])
        try trial.bench.finish()
    }

    @Test(
        "A count of what is to be imported reads outlines, and one that breaks the protocol ends it with an issue",
        arguments: ["order", "cursor", "unmoved"]) func outlines(kind: String) async throws
    {
        let trial = try BadAnswerTrial()
        for hour in 1...3 { trial.bench.health.save(trial.bench.scale(80, hour: hour)) }
        trial.peer.set {
            $0.outline = { page, request in
                var page = page
                switch kind {
                case "order": page.samples.reverse()
                case "cursor": page.cursor = Array(repeating: 7, count: 100_000)
                default: page.cursor = [1]
                }
                return page
            }
        }
        try await trial.engine.enable(trial.bench.peer)
        let error = await #expect(throws: SyncIssue.self) { try await trial.engine.importPreview(trial.bench.peer) }
        #expect(error?.code == .badAnswer)
        // An import goes on without a total.
        for try await step in trial.engine.importHistory(trial.bench.peer, .all) { #expect(step.total == nil) }
        #expect(try trial.bench.weights.count == 3)
        trial.peer.set { $0.outline = nil }
        let (listed, enumerated) = (trial.peer.count("outline"), trial.peer.count("enumerate"))
        #expect(try await trial.engine.importPreview(trial.bench.peer) == [.bodyMass: 3])
        #expect(trial.peer.count("outline") > listed && trial.peer.count("enumerate") == enumerated)
        try trial.bench.finish()
    }

    @Test("A sample that comes again on the next page of an outline is counted once")
    func repeatedOutline() async throws {
        let trial = try BadAnswerTrial()
        for hour in 1...4 { trial.bench.health.save(trial.bench.scale(80, hour: hour)) }
        let all = Mutex<[SampleOutline]>([])
        trial.peer.set {
            $0.outline = { page, request in
                guard request.cursor == nil else {
                    return OutlinePage(samples: Array(all.withLock { $0 }.suffix(2)), cursor: nil)
                }
                all.withLock { $0 = page.samples }
                return OutlinePage(samples: Array(page.samples.prefix(3)), cursor: [1])
            }
        }
        try await trial.engine.enable(trial.bench.peer)
        #expect(try await trial.engine.importPreview(trial.bench.peer) == [.bodyMass: 4])
        try trial.bench.finish()
    }

    @Test(
        "Totals that were not asked for, or are none, are ignored",
        arguments: ["day", "twice", "nan", "far", "unit"])
    func totals(kind: String) async throws {
        let distances = SyncPlan(types: [.distanceWalkingRunning: TypePlan(.pull, keepsDailyTotals: true)])
        let trial = try BadAnswerTrial(kind == "far" ? distances : .walkingApp)
        trial.peer.set {
            $0.totals = { readings in
                var readings = readings
                switch kind {
                case "day": readings[0].day = "1999-12-31"
                case "twice": readings.append(readings[0])
                case "nan": readings[0].quantity = Quantity(.nan, .count)
                case "far": readings[0].quantity = Quantity(1e308, .kilometer)
                default: readings[0].quantity = Quantity(1, .kilogram)
                }
                return readings
            }
        }
        try await trial.engine.enable(trial.bench.peer)
        #expect(try await trial.sync().issue?.code == .badAnswer)
        trial.peer.set { $0.totals = nil }
        #expect(try await trial.sync().issue == nil)
        try trial.bench.finish()
    }

    @Test(
        "A record without a record, digests of nothing and names of no type are ignored",
        arguments: [
            "deletion", "digest", "types", "two ids",
        ]) func records(kind: String) async throws
    {
        let trial = try BadStoreTrial()
        try trial.save(2)
        let gone = Sample(.bodyMass, 90, .kilogram, at: trial.clock.now)
        let clock = trial.clock
        try await trial.there.write { txn in
            _ = try txn.save(gone)
            _ = try txn.save(Sample(.bodyMass, 91, .kilogram, at: clock.now - .seconds(1)))
            _ = try txn.delete(id: gone.id)
        }
        trial.peer.set { script in
            switch kind {
            case "deletion":
                script.page = { page, _ in
                    var page = page
                    page.deletions.append(PulledDeletion(idAtPeer: SampleID()))
                    return page
                }
            case "two ids":
                script.page = { page, _ in
                    var page = page
                    for index in page.additions.indices { page.additions[index].idAtPeer = SampleID() }
                    return page
                }
            case "digest": script.digest = { _ in SyncDigest(count: -1, sum: 7) }
            default: script.types = { _ in [.every] }
            }
        }
        try await trial.engine.enable("there")
        #expect(try await trial.sync().issue?.code == .badAnswer)
        trial.peer.set { $0 = AnswerScript() }
        #expect(try await trial.sync().issue == nil)
        #expect(try trial.here.blockingRead { try $0.count(of: .bodyMass) } == 3)
        #expect(try trial.there.blockingRead { try $0.count(of: .bodyMass) } == 3)
        try trial.finish()
    }

    @Test("A reason may be as long as a text of a sample") func longReason() throws {
        let operation = PushOperation(
            sequence: 1, kind: .save(Sample(.bodyMass, 70, .kilogram, at: Instant(nanoseconds: 0))))
        for reason in ["", String(repeating: "é", count: 32_768)] {
            try [PushOutcome.unknown(reason: reason)].check([operation])
        }
    }

    @Test("A peer that remembers an impossible place of this store's feed is not believed: the store keeps its epoch")
    func impossibleMemory() async throws {
        let trial = try BadStoreTrial()
        try await trial.engine.enable("there")
        try trial.save(2)
        try await trial.sync()
        let before = try trial.here.info()
        let store = try trial.here.blockingRead { $0.storeID }
        let last = UInt64(UInt32.max)
        let impossible = [
            "kv1:\(store):\(before.epoch):\(last + 1):0:5", "kv1:\(store):\(before.epoch):1:0:5:\(UInt64.max):0",
        ]
        for place in try impossible.map({ try #require(ChangeToken($0)) }) {
            for isRead in [false, true] {
                trial.peer.set {
                    $0.memory = { _ in isRead ? PeerMemory(read: place) : PeerMemory(place: place) }
                }
                let pulls = trial.peer.count("pull")
                #expect(try await trial.sync().issue?.code == .badAnswer)
                #expect(trial.peer.count("pull") == pulls)
            }
        }
        let after = try trial.here.info()
        #expect(after.epoch == before.epoch && after.replica == before.replica)
        // A place in another store is possible: the peer has lost what it was told, and no epoch begins here.
        let elsewhere = try #require(ChangeToken("kv1:\(SampleID()):1:\(last):0:5"))
        trial.peer.set { $0.memory = { _ in PeerMemory(place: elsewhere, read: elsewhere) } }
        #expect(try await trial.sync().issue == nil)
        #expect(try trial.here.info().epoch == before.epoch)
        try trial.expectBoth(hold: 2)
        try trial.finish()
    }

    @Test(
        "A peer that names a sample as forgotten that it was not asked about deletes nothing, whatever the question",
        arguments: [1, 2])
    func strangeForgotten(question: Int) async throws {
        let trial = try BadStoreTrial()
        try await trial.engine.enable("there")
        try trial.save(2)
        try await trial.sync()
        // The peer no longer knows the store's place in its feed. It is asked whether it can tell what it has
        // forgotten, and then about the samples that it was given.
        let questions = Mutex(0)
        trial.peer.set { script in
            script.memory = { $0 }
            script.pullFailure = PeerError(.tokenExpired, "the place is forgotten")
            script.forgotten = { known in
                let number = questions.withLock { questions in
                    questions += 1
                    return questions
                }
                return number == question ? known?.union([SampleID()]) : known
            }
        }
        #expect(try await trial.sync().issue?.code == .badAnswer)
        #expect(trial.peer.count("forgotten") == question)
        try trial.expectBoth(hold: 2)
        trial.peer.set { $0 = AnswerScript() }
        #expect(try await trial.sync().issue == nil)
        try trial.expectBoth(hold: 2)
        try trial.finish()
    }

    // MARK: When to come again

    @Test("A peer that says when to come again is asked then, and not before") func retryAfter() async throws {
        let trial = try BadStoreTrial()
        try trial.save(2)
        try await trial.engine.enable("there")
        trial.peer.set { $0.outcomes = { $0.map { _ in .busy(retryAfter: .seconds(1_000)) } } }
        #expect(try await trial.sync().issue?.code == .delayed)
        let next = try #require(try trial.engine.session("there").schedule.nextDue())
        #expect(next >= trial.clock.now + .seconds(1_000) && next <= trial.clock.now + .seconds(1_250))
        try trial.finish()
    }

    @Test("Operations that a busy peer puts off count no attempt, and wait as long as it says") func busy() async throws
    {
        let trial = try BadAnswerTrial()
        try await trial.engine.enable(trial.bench.peer)
        try await trial.sync()
        _ = try trial.bench.save(72)
        trial.peer.set { $0.outcomes = { $0.map { _ in .busy(retryAfter: .seconds(1_000)) } } }
        #expect(try await trial.sync().pushed.parked == 1)
        let waiting = try #require(try trial.bench.pending.first)
        #expect(waiting.attempts == 0 && waiting.state == .waiting && !waiting.isSent)
        #expect(waiting.nextTry >= trial.bench.clock.now + .seconds(1_000))
        try trial.bench.finish()
    }

    @Test("No peer is asked at once because it says so, or never again") func boundsOfRetryAfter() {
        var options = SyncOptions()
        options.random = { 0.5 }
        #expect(options.delay(afterFailures: 1, asked: .zero) >= .seconds(1))
        #expect(options.delay(afterFailures: 1, asked: .seconds(1 << 40)) < .days(2))
        #expect(options.delay(afterFailures: 100, asked: .zero) >= .seconds(1_800))
    }
}
