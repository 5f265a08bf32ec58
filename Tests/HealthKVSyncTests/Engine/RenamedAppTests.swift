import SyncSupport
import Testing

@testable import HealthKVSync

@Suite("C31, C33: an app that has another name stays the app that it is, and so do its extensions")
struct RenamedAppTests {
    private func options(_ clock: ManualClock, _ source: Source?) -> SampleStore.Options {
        var options = SampleStore.Options()
        options.clock = { clock.now }
        if let source { options.source = source }
        options.limits.skipsSync = true
        options.maintainsWhenIdle = false
        return options
    }

    /// Opens the store of a bench once more, as another app or another part of the same.
    private func handle(_ bench: Bench, _ source: Source?) throws -> SampleStore {
        try SampleStore.open(at: bench.store.path, options: options(bench.clock, source))
    }

    @Test(
        "Edits and deletions of older entries are sent, by whichever part of the app",
        arguments: [
            Source(bundle: "app", name: "Gewicht"), Source(bundle: "app", name: "app", version: "2"),
            Source(bundle: "app.widget", name: "Widget"), nil,
        ])
    func edits(source: Source?) async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let (edited, deleted) = (try bench.save(70), try bench.save(71, hour: 1))
        try await bench.sync()
        let other = try handle(bench, source)
        try await other.write { txn in
            // As an app edits what it shows: the entry keeps the source that it was written under.
            guard var sample = try txn.sample(id: edited.id) else { return }
            sample.quantity.value = 72
            try txn.save(sample)
            try txn.delete(id: deleted.id)
        }
        #expect(try bench.pending.count == 2)
        let new = Sample(.bodyMass, 73, .kilogram, at: bench.time(5))
        try await other.write { _ = try $0.save(new) }
        let engine = Bench.makeEngine(
            other, [SyncPeer(MemoryHealthPeer(bench.health), plan: .weightTracker)], bench.clock)
        _ = try await engine.sync()
        #expect(bench.held == [72, 73])
        // The echo is known as what it is.
        _ = try await engine.sync()
        #expect(try bench.weights == [72, 73])
        #expect(try bench.pending.isEmpty)
        try other.close()
        try bench.finish()
    }

    @Test("Another app that shares the store does not send what this one wrote") func otherApp() async throws {
        let bench = try Bench()
        try await bench.engine.enable(bench.peer)
        let sample = try bench.save(70)
        try await bench.sync()
        for source in [Source(bundle: "appendix", name: "app"), Source(name: "app")] {
            let other = try handle(bench, source)
            #expect(other.ownSource == source)
            let start = bench.time(0)
            var edit = Sample(.bodyMass, 75, .kilogram, at: start, id: sample.id)
            edit.source = Source(bundle: "app", name: "app")
            let edited = edit
            try await other.write { _ = try $0.save(edited) }
            #expect(try bench.pending.isEmpty)
            try other.close()
        }
        try bench.finish()
    }

    @Test("A handle without a source writes as the app does; where an extension was first the app takes its place")
    func ownSource() throws {
        let clock = ManualClock()
        let first = try SampleStore.temporary(options: options(clock, nil))
        #expect(first.ownSource == Source(name: "HealthKV"))
        func write(_ source: Source?, hour: Int) throws -> Source {
            let store = try SampleStore.open(at: first.path, options: options(clock, source))
            defer { try? store.close() }
            let sample = Sample(.bodyMass, 70, .kilogram, at: clock.now + .seconds(hour * 3_600))
            try store.write { _ = try $0.save(sample) }
            #expect(try store.read { try $0.sample(id: sample.id) }?.source == store.ownSource)
            return first.ownSource
        }
        let (widget, app) = (Source(bundle: "org.app.widget", name: "W"), Source(bundle: "org.app", name: "App"))
        let renamed = Source(bundle: "org.app", name: "Anwendung", version: "2")
        #expect(try write(widget, hour: 1) == widget)
        #expect(try write(nil, hour: 2) == widget)
        #expect(try write(app, hour: 3) == app)
        #expect(try write(widget, hour: 4) == app)
        #expect(try write(Source(bundle: "org.apple", name: "Other"), hour: 5) == app)
        #expect(try write(renamed, hour: 6) == renamed)
        #expect(try write(nil, hour: 7) == renamed)
        #expect(try first.check().findings.isEmpty)
        try first.close()
    }
}
