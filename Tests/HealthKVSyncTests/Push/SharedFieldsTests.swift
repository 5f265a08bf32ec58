import SyncSupport
import Testing

@testable import HealthKVSync

/// What this app edits on one device comes to another through a database of health that both share, in all its parts.
@Suite("Edits through a database that two devices share")
struct SharedFieldsTests {
    /// A part of a sample beside its value, span and metadata.
    enum Part: CaseIterable {
        case timeZone, group, device, count

        /// Gives the part one of two contents, or none.
        func set(_ content: Int?, _ sample: inout Sample) {
            switch self {
            case .timeZone: sample.timeZone = content.map { ["Europe/Berlin", "Asia/Tokyo"][$0] }
            case .group: sample.group = content.map { ["lunch", "dinner"][$0] }
            case .device: sample.device = content.map { Device(name: ["Scale", "Balance"][$0]) }
            case .count: sample.count = content.map { $0 + 2 } ?? 1
            }
        }
    }

    private struct Two {
        let clock = ManualClock()
        let health = MemoryHealth()
        let a: SampleStore
        let b: SampleStore
        let one: SyncEngine
        let other: SyncEngine
        let id = SampleID()

        /// The database keeps nothing of some parts.
        init(lacking: [Part] = []) async throws {
            (a, b) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
            let peer = MemoryHealthPeer(health) { sample in for part in lacking { part.set(nil, &sample) } }
            one = Bench.makeEngine(a, [SyncPeer(peer, plan: .weightTracker)], clock)
            other = Bench.makeEngine(b, [SyncPeer(peer, plan: .weightTracker)], clock)
            for engine in [one, other] { try await engine.enable("health") }
        }

        func save(_ kilograms: Double, _ parts: [Part], _ content: Int?, in store: SampleStore) async throws {
            var sample = Sample(
                .bodyMass, kilograms, .kilogram, at: Instant(nanoseconds: 799_000_000_000_000_000), id: id)
            for part in parts { part.set(content, &sample) }
            let saved = sample
            _ = try await store.write { try $0.save(saved) }
            clock.advance(seconds: 2)
        }

        func sync() async throws { for engine in [one, other, one] { _ = try await engine.sync() } }

        func held(_ store: SampleStore) throws -> Sample? { try store.read { try $0.sample(id: id) } }

        func finish() throws {
            for store in [a, b] {
                #expect(try store.check().findings.isEmpty)
                try store.close()
            }
        }
    }

    @Test(
        "C1: an edit of any part of a sample reaches the other device, and so does its removal",
        arguments: Part.allCases, [1, nil])
    func edited(_ part: Part, _ content: Int?) async throws {
        let two = try await Two()
        try await two.save(72, [part], 0, in: two.a)
        try await two.sync()
        try await two.save(72, [part], content, in: two.b)
        try await two.sync()
        let (here, there) = (try #require(try two.held(two.a)), try #require(try two.held(two.b)))
        #expect(here.version == 2 && there.version == 2)
        #expect(here.contentBytes == there.contentBytes)
        var expected = here
        part.set(content, &expected)
        #expect(here == expected)
        #expect(two.health.live.count == 1)
        try two.finish()
    }

    @Test("What a database does not keep is not erased by an edit that comes through it") func lacking() async throws {
        let two = try await Two(lacking: Part.allCases)
        try await two.save(72, Part.allCases, 0, in: two.a)
        try await two.sync()
        let before = try #require(try two.held(two.a))
        try await two.save(73, [], nil, in: two.b)
        try await two.sync()
        let after = try #require(try two.held(two.a))
        #expect(after.quantity.value == 73 && after.version == 2)
        #expect(after.timeZone == before.timeZone && after.group == "lunch")
        #expect(after.device == before.device && after.count == 2)
        try two.finish()
    }

    @Test("What another program does not know of is not erased by its edit") func otherProgram() async throws {
        let two = try await Two()
        try await two.save(72, Part.allCases, 0, in: two.a)
        try await two.sync()
        let shown = try #require(two.health.live.first?.sample)
        var edit = Sample(
            .bodyMass, 73, .kilogram, from: shown.start, to: shown.end, source: shown.source,
            syncIdentifier: shown.syncIdentifier, version: shown.version + 1)
        edit.isUserEntered = shown.isUserEntered
        two.health.save(edit, app: "app")
        try await two.sync()
        let after = try #require(try two.held(two.a))
        #expect(after.quantity.value == 73 && after.group == "lunch" && after.count == 2)
        #expect(after.timeZone == "Europe/Berlin" && after.device == Device(name: "Scale"))
        try two.finish()
    }
}
