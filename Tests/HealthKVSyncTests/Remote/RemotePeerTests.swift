import Foundation
import HealthKVSync
import SyncSupport
import Synchronization
import TestSupport
import Testing

/// A line that loses, doubles and cuts messages.
private final class BadLine: Sendable {
    struct Cut: Error {}

    private let random: Mutex<SeededGenerator>
    private let wasCut = Mutex(false)
    /// The percentage of messages that something happens to.
    let trouble = Mutex(0)
    let counts = Mutex<[RemoteCall: Int]>([:])
    private let service: PeerService<StorePeer>

    init(_ service: PeerService<StorePeer>, seed: UInt64) {
        self.service = service
        random = Mutex(SeededGenerator(seed: seed))
    }

    func send(_ call: RemoteCall, _ body: Data) async throws -> Data {
        counts.withLock { $0[call, default: 0] += 1 }
        let percent = trouble.withLock { $0 }
        let fate = random.withLock { $0.chance(percent: percent) ? $0.number(0..<5) : 5 }
        if fate == 0 { throw Cut() }
        // What is cut each time counts as what the other side cannot read.
        let mayCut = wasCut.withLock { wasCut in
            defer { wasCut = fate == 4 && !wasCut }
            return !wasCut
        }
        if fate == 4, mayCut { return await service.answer(call, body.prefix(body.count / 2)) }
        if fate == 1 { _ = await service.answer(call, body) }
        let answer = await service.answer(call, body)
        if fate == 2 { throw Cut() }
        return fate == 3 ? answer.prefix(answer.count / 2) : answer
    }
}

@Suite("A store of records behind a transport")
struct RemotePeerTests {
    @Test("Two phones and a server lose and double nothing over lines that lose, double and cut messages")
    func badLines() async throws {
        let given = ProcessInfo.processInfo.environment["HEALTHKV_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64.random(in: 0..<1 << 32)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let clock = ManualClock()
        let server = try Bench.makeStore(clock)
        let phones = try (0..<2).map { _ in try Bench.makeStore(clock) }
        let lines = phones.indices.map { number in
            BadLine(
                PeerService(StorePeer(server, id: "server", as: PeerID("phone\(number)"))), seed: seed &+ UInt64(number)
            )
        }
        let engines = zip(phones, lines).map { phone, line in
            Bench.makeEngine(
                phone, [SyncPeer(RemotePeer(id: "server") { try await line.send($0, $1) }, plan: .everything)], clock)
        }
        for engine in engines { try await engine.enable("server") }
        var wanted: [SampleID: Double] = [:]
        for line in lines { line.trouble.withLock { $0 = 15 } }
        for round in 0..<40 {
            let phone = random.pick(phones)
            if let id = wanted.keys.sorted().randomElement(using: &random), random.chance(percent: 40) {
                // What another phone wrote last may not be here yet, and an edit must not race with it.
                if var held = try phone.blockingRead({ try $0.sample(id: id) }), held.quantity.value == wanted[id] {
                    if random.chance(percent: 50) {
                        wanted[id] = nil
                        _ = try await phone.write { try $0.delete(id: id) }
                    } else {
                        (held.quantity.value, held.version) = (100 + Double(round), 0)
                        let edited = held
                        wanted[id] = edited.quantity.value
                        _ = try await phone.write { try $0.save(edited) }
                    }
                }
            } else {
                let sample = Sample(
                    .bodyMass, 50 + Double(round), .kilogram, at: clock.now, id: SampleID(using: &random))
                _ = try await phone.write { try $0.save(sample) }
                wanted[sample.id] = sample.quantity.value
            }
            for engine in engines { _ = try await engine.sync() }
            clock.advance(seconds: 7_200)
        }
        for line in lines { line.trouble.withLock { $0 = 0 } }
        for _ in 0..<4 {
            clock.advance(seconds: 7_200)
            for engine in engines { #expect(try await engine.sync()["server"]?.issue == nil) }
        }
        for store in phones + [server] {
            let held = try store.blockingRead { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }
            #expect(Dictionary(uniqueKeysWithValues: held.map { ($0.id, $0.quantity.value) }) == wanted)
            #expect(try store.check().findings.isEmpty)
            try store.close()
        }
        #expect(lines.reduce(0) { $0 + $1.counts.withLock { $0[.push] ?? 0 } } > 10)
    }

    @Test("What goes wrong on the way is an error that the engine knows, and quotes nothing of the message")
    func errors() async throws {
        struct Quoting: Error, CustomStringConvertible {
            let description: String
        }
        let operation = PushOperation(
            sequence: 1, kind: .save(Sample(.bodyMass, 71.5, .kilogram, at: Instant(nanoseconds: 0), id: SampleID())))
        let silent = RemotePeer(id: "server") { throw Quoting(description: String(decoding: $1, as: UTF8.self)) }
        #expect(await silent.push([operation]) == [.unknown(reason: "no answer to push")])
        await #expect(throws: PeerError(.transient, "no answer to types")) { try await silent.types() }
        let locked = RemotePeer(id: "server") { _, _ in throw PeerError(.unauthorized, "the token has expired") }
        await #expect(throws: PeerError(.unauthorized, "the token has expired")) {
            try await locked.meet(told: nil)
        }
        #expect(await locked.push([operation]) == [.parked(.unauthorized)])
        let garbled = RemotePeer(id: "server") { _, _ in Data("71.5".utf8) }
        await #expect(throws: PeerError(.badAnswer, "the answer to pull cannot be read")) {
            try await garbled.pull(PullRequest(type: .every))
        }
        #expect(await garbled.push([operation]) == [.unknown(reason: "the answer to push cannot be read")])
        let busy = RemotePeer(id: "server") { _, _ in
            try JSONEncoder().encode(["failure": PeerError(.transient, "full", retryAfter: .seconds(7))])
        }
        #expect(await busy.push([operation]) == [.busy(retryAfter: .seconds(7))])
        await busy.disconnected(from: [.bodyMass])
        let newer = RemotePeer(id: "server") { _, _ in Data(#"{"failure":{"code":"eclipse","detail":"dark"}}"#.utf8) }
        await #expect(throws: PeerError(.transient, "dark")) { try await newer.types() }
        #expect(await newer.push([operation]) == [.unknown(reason: "dark")])
    }

    @Test("An operation that the other side cannot read is refused, and those beside it are carried out")
    func unreadable() async throws {
        let clock = ManualClock()
        let store = try Bench.makeStore(clock)
        let service = PeerService(StorePeer(store, id: "server", as: "phone"))
        let peer = RemotePeer(id: "server", limits: Self.patient) { call, body in
            // A server that does not know this word.
            guard call == .push, String(decoding: body, as: UTF8.self).contains("lantern") else {
                return await service.answer(call, body)
            }
            return await service.answer(call, Data("[1]".utf8))
        }
        let operations = (1...3).map { number in
            var sample = Sample(.bodyMass, 70, .kilogram, at: clock.now, id: SampleID())
            (sample.source, sample.version) = (Source(bundle: "app", name: "App"), 1)
            sample.modified = ChangeClock(time: clock.now, replica: 7)
            if number == 2 { sample.metadata["word"] = .string("lantern") }
            return PushOperation(sequence: UInt64(number), kind: .save(sample))
        }
        #expect(
            await peer.push(operations) == [.done(), .refused(reason: "the message cannot be read"), .done()])
        #expect(try store.blockingRead { try $0.count() } == 2)
        let asked = Mutex(0)
        let small = RemotePeer(id: "server", limits: PeerLimits(page: 2)) { _, _ in
            asked.withLock { $0 += 1 }
            return Data(#"{"value":[]}"#.utf8)
        }
        let samples = (0..<5).map { _ in Sample(.bodyMass, 70, .kilogram, at: clock.now, id: SampleID()) }
        #expect(try await small.forgotten(among: samples, since: [1]) == [])
        #expect(asked.withLock { $0 } == 3)
        try store.close()
    }

    /// A busy machine may take long for a message.
    private static let patient = PeerLimits(operations: 500, page: 500, deadline: .seconds(3_600))

    /// A server that does not know a word, and counts the messages of pushes.
    private func server(_ store: SampleStore, without word: String, _ messages: Counter) -> RemotePeer {
        let service = PeerService(StorePeer(store, id: "server", as: "phone"))
        return RemotePeer(id: "server", limits: Self.patient) { call, body in
            guard call == .push else { return await service.answer(call, body) }
            messages.count.withLock { $0 += 1 }
            guard String(decoding: body, as: UTF8.self).contains(word) else { return await service.answer(call, body) }
            return await service.answer(call, Data("[1]".utf8))
        }
    }

    private final class Counter: Sendable { let count = Mutex(0) }

    @Test("Few messages find what the other side cannot read among many operations", arguments: [1, 2, 150])
    func fewMessages(unreadable: Int) async throws {
        let clock = ManualClock()
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let messages = Counter()
        let peer = server(there, without: "lantern", messages)
        let engine = Bench.makeEngine(here, [SyncPeer(peer, plan: .everything)], clock)
        try await engine.enable("server")
        let bad = unreadable == 150 ? Set(0..<150) : Set((0..<unreadable).map { 37 + 101 * $0 })
        _ = try await here.write { txn in
            for number in 0..<200 {
                var sample = Sample(.bodyMass, 70, .kilogram, at: clock.now - .seconds(number))
                if bad.contains(number) { sample.metadata["word"] = .string("lantern") }
                _ = try txn.save(sample)
            }
        }
        var (passes, most) = (0, 0)
        while passes < 40 {
            let before = messages.count.withLock { $0 }
            let issue = try await engine.sync()["server"]?.issue
            most = max(most, messages.count.withLock { $0 } - before)
            passes += 1
            if issue == nil { break }
            clock.advance(seconds: 7_200)
        }
        #expect(try there.blockingRead { try $0.count() } == 200 - bad.count)
        #expect(try engine.status().peers["server"]?.quarantined == bad.count)
        #expect(most <= (unreadable == 150 ? 230 : 20 * unreadable), "\(most) messages of one pass")
        #expect(passes == 1)
        for store in [here, there] { try store.close() }
    }

    @Test(
        "What a server on a slow line cannot read does not hold up what is behind it",
        arguments: ["saves", "a deleted range", "a comparison"])
    func slowSearch(of work: String) async throws {
        let clock = ManualClock()
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let service = PeerService(StorePeer(there, id: "server", as: "phone"))
        let isUnread = Mutex(false)
        // Two seconds for the search are less than its messages take.
        let peer = RemotePeer(id: "server", limits: PeerLimits(deadline: .seconds(4))) { call, body in
            guard call == .push, isUnread.withLock({ $0 }) else { return await service.answer(call, body) }
            try await Task.sleep(for: .milliseconds(40))
            let isBad = String(decoding: body, as: UTF8.self).contains("StepCount")
            return await service.answer(call, isBad ? Data("[1]".utf8) : body)
        }
        let engine = Bench.makeEngine(here, [SyncPeer(peer, plan: .everything)], clock) { $0.callClock = .system }
        try await engine.enable("server")
        let steps = (0..<60).map { Sample(.stepCount, 9, .count, at: clock.now - .seconds($0)) }
        if work == "a comparison" {
            // Then both sides hold something that the other one lacks, and nothing is known of the feed.
            _ = try await there.write {
                try $0.save(Sample(.bodyMass, 80, .kilogram, at: clock.now - .seconds(86_400)))
            }
        }
        if work != "a deleted range" { isUnread.withLock { $0 = true } }
        _ = try await here.write { try $0.save(steps) }
        if work == "a deleted range" {
            var issue = try await engine.sync()["server"]?.issue
            // On a busy machine a call may take longer than it may.
            for _ in 0..<60 where issue != nil {
                clock.advance(seconds: 7_200)
                issue = try await engine.sync()["server"]?.issue
            }
            #expect(issue == nil)
            isUnread.withLock { $0 = true }
            _ = try await here.write { try $0.delete(.range(of: .stepCount)) }
        }
        let weight = Sample(.bodyMass, 70, .kilogram, at: clock.now)
        _ = try await here.write { try $0.save(weight) }
        func isDone() throws -> Bool {
            guard try there.blockingRead({ try $0.sample(id: weight.id) }) != nil else { return false }
            return try engine.status().peers["server"]?.quarantined == 60
        }
        // On a busy machine a message may take half a second: then the next pass has smaller pushes.
        let end = ContinuousClock.now + .seconds(600)
        var passes = 0
        while try !isDone(), passes < 200, ContinuousClock.now < end {
            do {
                if work == "a comparison" { try await engine.reconcile("server") }
                _ = try await engine.sync()
            } catch is SyncIssue {}
            clock.advance(seconds: 7_200)
            passes += 1
        }
        #expect(try there.blockingRead { try $0.sample(id: weight.id) } != nil)
        #expect(try engine.status().peers["server"]?.quarantined == 60)
        for store in [here, there] { try store.close() }
    }

    @Test("A server tells how much it takes at once, and the narrower limits of both sides count")
    func toldLimits() async throws {
        let clock = ManualClock()
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let service = PeerService(
            StorePeer(there, id: "server", as: "phone"),
            limits: PeerLimits(operations: 7, page: 50, deadline: .seconds(20_000)))
        let pushed = Mutex<[Int]>([])
        let asked = Mutex<[Int]>([])
        let peer = RemotePeer(id: "server", limits: PeerLimits(operations: 10, page: 4)) { call, body in
            if call == .push {
                let operations = try JSONDecoder().decode([PushOperation].self, from: body)
                pushed.withLock { $0.append(operations.count) }
            } else if call == .pull {
                let request = try JSONDecoder().decode(PullRequest.self, from: body)
                asked.withLock { $0.append(request.limit) }
            }
            return await service.answer(call, body)
        }
        #expect(peer.limits == PeerLimits(operations: 10, page: 4))
        let engine = Bench.makeEngine(here, [SyncPeer(peer, plan: .everything)], clock)
        try await engine.enable("server")
        func weights(_ first: Int) -> [Sample] {
            (first..<first + 20).map { Sample(.bodyMass, 70, .kilogram, at: clock.now - .seconds($0)) }
        }
        let (ours, theirs) = (weights(0), weights(100))
        _ = try await here.write { try $0.save(ours) }
        _ = try await there.write { try $0.save(theirs) }
        _ = try await engine.sync()
        #expect(try there.blockingRead { try $0.count() } == 40 && here.blockingRead { try $0.count() } == 40)
        #expect(pushed.withLock { $0.max() } == 7 && asked.withLock { $0.max() } == 4)
        #expect(peer.limits == PeerLimits(operations: 7, page: 4, deadline: .seconds(900)))
        for store in [here, there] { try store.close() }
    }

    @Test("An operation whose message was cut on its way is sent again, and not refused") func cutMessage() async throws
    {
        let clock = ManualClock()
        let (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        let service = PeerService(StorePeer(there, id: "server", as: "phone"))
        let cuts = Mutex(1)
        let peer = RemotePeer(id: "server") { call, body in
            let isCut =
                call == .push
                && cuts.withLock { cuts in
                    cuts -= 1
                    return cuts >= 0
                }
            return await service.answer(call, isCut ? body.prefix(body.count / 2) : body)
        }
        let engine = Bench.makeEngine(here, [SyncPeer(peer, plan: .everything)], clock)
        try await engine.enable("server")
        _ = try await here.write { try $0.save(Sample(.bodyMass, 70, .kilogram, at: clock.now)) }
        #expect(try await engine.sync()["server"]?.issue == nil)
        #expect(try there.blockingRead { try $0.count() } == 1)
        #expect(try engine.status().peers["server"]?.quarantined == 0)
        for store in [here, there] { try store.close() }
    }

    @Test("A cancelled push sends no further messages") func cancelled() async throws {
        let sent = Mutex(0)
        let peer = RemotePeer(id: "server") { _, _ in
            sent.withLock { $0 += 1 }
            while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
            return Data(#"{"failure":{"code":"invalid","detail":"unreadable"}}"#.utf8)
        }
        let operations = (0..<8).map { number in
            PushOperation(
                sequence: UInt64(number),
                kind: .save(Sample(.bodyMass, 70, .kilogram, at: Instant(nanoseconds: 0), id: SampleID())))
        }
        let push = Task { await peer.push(operations) }
        try await until("the first message") { sent.withLock { $0 } > 0 }
        push.cancel()
        let outcomes = await push.value
        #expect(sent.withLock { $0 } == 1)
        let nothing = RemotePeer(id: "server") { _, _ in
            Data(#"{"failure":{"code":"invalid","detail":"unreadable"}}"#.utf8)
        }
        #expect(await nothing.push([]).isEmpty)
        #expect(outcomes.count == 8 && outcomes.allSatisfy { if case .failed = $0 { true } else { false } })
    }

    @Test("What is hidden on one phone is hidden on another one, though the server keeps numbers as JavaScript does")
    func roundedVersions() async throws {
        let clock = ManualClock()
        let server = try Bench.makeStore(clock)
        let phones = try (0..<2).map { _ in try Bench.makeStore(clock) }
        let engines = phones.indices.map { number in
            let service = PeerService(StorePeer(server, id: "server", as: PeerID("phone\(number)")))
            let peer = RemotePeer(id: "server") { call, body in
                let answer = await service.answer(call, body)
                return call == .pull ? Self.rounded(answer) : answer
            }
            return Bench.makeEngine(phones[number], [SyncPeer(peer, plan: .everything)], clock)
        }
        for engine in engines { try await engine.enable("server") }
        func syncAll() async throws {
            for engine in engines + engines { #expect(try await engine.sync()["server"]?.issue == nil) }
        }
        var walk = Sample(
            .stepCount, 900, .count, from: clock.now, to: clock.now + .seconds(600), id: SampleID(), origin: .imported)
        walk.source = Source(bundle: "watch", name: "Watch")
        _ = try await phones[0].write { [walk] in
            var batch = SampleBatch()
            batch.append(walk)
            return try $0.importBatch(batch)
        }
        try await syncAll()
        #expect(try phones[1].blockingRead { try $0.sample(id: walk.id) } != nil)
        _ = try await phones[0].write { [walk] in try $0.delete(id: walk.id) }
        #expect(try phones[0].blockingRead { try $0.deletedSample(id: walk.id) }?.isHidden == true)
        try await syncAll()
        #expect(try phones[1].blockingRead { try $0.sample(id: walk.id) } == nil)
        #expect(try phones[1].blockingRead { try $0.deletedSample(id: walk.id) }?.isHidden == true)
        for engine in engines { #expect(try engine.status().peers["server"]?.notices.isEmpty == true) }
        for store in phones + [server] { try store.close() }
    }

    /// Returns JSON as JavaScript reads and writes it: numbers have 53 bits, and the digits that are left are zeros.
    private static func rounded(_ answer: Data) -> Data {
        var text = String(decoding: answer, as: UTF8.self)
        for found in text.matches(of: /[:\[,](\d{17,})(?=[,}\]])/).reversed() {
            guard let number = Double(found.output.1) else { continue }
            let digits = "\(number)".prefix { $0 != "e" }.filter { $0 != "." }
            let zeros = String(repeating: "0", count: found.output.1.count - digits.count)
            text.replaceSubrange(found.output.1.startIndex..<found.output.1.endIndex, with: digits + zeros)
        }
        return Data(text.utf8)
    }

    @Test("A service reads no page of an impossible length, and none that would fill its memory") func pageLengths()
        async throws
    {
        let clock = ManualClock()
        let store = try Bench.makeStore(clock)
        var batch = SampleBatch()
        for number in 0..<10_050 {
            let start = clock.now - .seconds(number)
            batch.append(Sample(.stepCount, 9, .count, from: start, to: start, id: SampleID(), origin: .imported))
        }
        _ = try await store.write { [batch] in try $0.importBatch(batch) }
        let service = PeerService(StorePeer(store, id: "server", as: "phone"))
        let peer = RemotePeer(id: "server") { await service.answer($0, $1) }
        for limit in [0, -1, .min] {
            let pulled = await #expect(throws: PeerError.self) {
                try await peer.pull(PullRequest(type: .every, limit: limit))
            }
            let listed = await #expect(throws: PeerError.self) {
                try await peer.enumerate(EnumerationRequest(type: .stepCount, limit: limit))
            }
            #expect(pulled?.code == .invalid && listed?.code == .invalid)
        }
        let page = try await peer.pull(PullRequest(type: .every, limit: .max))
        #expect(page.additions.count <= 10_000 && !page.isDrained)
        let list = try await peer.enumerate(EnumerationRequest(type: .stepCount, limit: .max))
        #expect(list.samples.count <= 10_000 && list.cursor != nil)
        // Without a service: nothing is asked for, and nothing is looked for.
        let began = ContinuousClock.now
        _ = try? await StorePeer(store, id: "server", as: "phone").pull(PullRequest(type: .every, limit: 0))
        #expect(ContinuousClock.now - began < .seconds(1))
        try store.close()
    }

    @Test("A service answers what it cannot read, and what its peer refuses, with an error") func refusals()
        async throws
    {
        let store = try Bench.makeStore(ManualClock())
        let service = PeerService(StorePeer(store, id: "server", as: "phone"))
        for call in RemoteCall.allCases {
            let answer = String(decoding: await service.answer(call, Data("7".utf8)), as: UTF8.self)
            // The question for types has no arguments that could be wrong.
            #expect(answer.contains("the message cannot be read") == (call != .types), "\(call): \(answer)")
        }
        let peer = RemotePeer(id: "server") { await service.answer($0, $1) }
        await #expect(throws: PeerError.self) { try await peer.pull(PullRequest(type: .every, token: [1, 2, 3])) }
        #expect(try await peer.types() == [])
        try store.close()
        let error = await #expect(throws: PeerError.self) { try await peer.pull(PullRequest(type: .every)) }
        #expect(error?.code == .unavailable)
    }

    /// A message and its answer, as a server in another language reads and writes them.
    struct Form: Sendable, CustomTestStringConvertible {
        let call: RemoteCall
        let message, answer: String
        let ask: @Sendable (RemotePeer) async throws -> String
        var testDescription: String { call.rawValue }
    }

    private static let forms = [
        Form(call: .meet, message: "{}", answer: #"{"value":null}"#) { "\(try await $0.meet(told: nil) == nil)" },
        Form(call: .types, message: "{}", answer: #"{"value":["HKQuantityTypeIdentifierBodyMass"]}"#) {
            "\(try await $0.types() == [.bodyMass])"
        },
        Form(
            call: .acknowledge, message: #"{"token":[1,2],"type":"*"}"#, answer: #"{"value":{}}"#
        ) {
            try await $0.acknowledge([1, 2], of: .every)
            return "true"
        },
        Form(
            call: .digest,
            message: #"{"type":"HKQuantityTypeIdentifierBodyMass","window":{"from":"2001-01-01T00:00:00Z","#
                + #""to":"2001-01-01T00:00:00.000000001Z"}}"#,
            answer: #"{"value":{"count":3,"sum":5}}"#
        ) {
            let window = TimeRange(from: Instant(nanoseconds: 0), to: Instant(nanoseconds: 1))
            return "\(try await $0.digest(of: .bodyMass, in: window) == SyncDigest(count: 3, sum: 5))"
        },
        Form(call: .forgotten, message: #"{"samples":[],"token":[7]}"#, answer: #"{"value":[]}"#) {
            "\(try await $0.forgotten(among: [], since: [7]) == [])"
        },
        Form(call: .push, message: "[]", answer: #"{"value":[]}"#) { "\(await $0.push([]) == [])" },
        Form(call: .disconnected, message: #"["*"]"#, answer: #"{"value":{}}"#) {
            await $0.disconnected(from: [.every])
            return "true"
        },
    ]

    @Test("Each message and each answer keeps its JSON", arguments: forms) func keepsForm(_ form: Form) async throws {
        let sent = Mutex("")
        let peer = RemotePeer(id: "server") { call, body in
            #expect(call == form.call)
            let object = try JSONSerialization.jsonObject(with: body, options: .fragmentsAllowed)
            let sorted = try JSONSerialization.data(
                withJSONObject: object, options: [.sortedKeys, .fragmentsAllowed, .withoutEscapingSlashes])
            sent.withLock { $0 = String(decoding: sorted, as: UTF8.self) }
            return Data(form.answer.utf8)
        }
        #expect(try await form.ask(peer) == "true")
        #expect(sent.withLock { $0 } == form.message)
    }
}
