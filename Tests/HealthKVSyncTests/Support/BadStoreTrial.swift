import SyncSupport
import Testing

@testable import HealthKVSync

/// Two stores between which somebody alters the answers; deadlines have a clock of their own.
struct BadStoreTrial {
    let clock = ManualClock()
    let (here, there): (SampleStore, SampleStore)
    let peer: BadPeer<StorePeer>
    let engine: SyncEngine
    let calls = ManualClock()

    init() throws {
        (here, there) = (try Bench.makeStore(clock), try Bench.makeStore(clock))
        peer = BadPeer(StorePeer(there, id: "there", as: "here"))
        let calls = calls
        engine = Bench.makeEngine(here, [SyncPeer(peer, plan: .everything)], clock) {
            $0.callClock = calls.sync
            $0.callGrace = .milliseconds(20)
        }
    }

    func save(_ count: Int) throws {
        for index in 0..<count {
            let sample = Sample(.bodyMass, 70 + Double(index), .kilogram, at: clock.now - .seconds(60 * index))
            try here.write { _ = try $0.save(sample) }
        }
    }

    /// Saves a sample in the other store.
    func saveThere() throws {
        let sample = Sample(.bodyMass, 90, .kilogram, at: clock.now - .days(1))
        try there.write { _ = try $0.save(sample) }
    }

    @discardableResult
    func sync() async throws -> SyncReport { try await engine.sync()["there"]! }

    /// Expects that both stores hold so many samples.
    func expectBoth(hold count: Int, sourceLocation: SourceLocation = #_sourceLocation) throws {
        for store in [here, there] {
            #expect(try store.read { try $0.count(of: .bodyMass) } == count, sourceLocation: sourceLocation)
        }
    }

    /// Calls that hang go on once the stores are closed, so they change nothing.
    func finish() throws {
        for store in [here, there] {
            #expect(try store.check().findings.isEmpty)
            try store.close()
        }
        peer.release()
    }
}
