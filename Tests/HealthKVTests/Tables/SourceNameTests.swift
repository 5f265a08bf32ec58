import TestSupport
import Testing

@testable import HealthKV

@Suite("The name of a source is the stored one, whatever a process asks first")
struct SourceNameTests {
    @Test("An order of sources by name means the same after a filter by bundle, and after a save under a new name")
    func order() throws {
        let folder = TemporaryFolder()
        let phone = Source(bundle: "com.apple.health.P", name: "Phone", product: "iPhone17,1")
        let watch = Source(bundle: "com.apple.health.W", name: "Watch", product: "Watch7,1")
        let start = Instant("2026-03-01T08:00:00Z")!
        @Sendable func steps(_ count: Double, _ from: Int, _ to: Int, _ source: Source) -> Sample {
            Sample(.stepCount, count, .count, from: start + .seconds(from), to: start + .seconds(to), source: source)
        }
        func opened() throws -> SampleStore { try SampleStore.open(at: folder.path + "/store") }
        func sum(_ store: SampleStore) throws -> Double? { try store.read { try $0.statistics(of: .stepCount).sum } }
        var store = try opened()
        try store.write { txn in
            _ = try txn.save([steps(100, 0, 100, phone), steps(120, 50, 110, watch)])
            try txn.setPriority([RankedSource(SourceIdentity(name: "Phone"))], of: .stepCount)
        }
        #expect(try sum(store) == 120)
        try store.close()

        store = try opened()
        let found = try store.read { try $0.samples(of: .stepCount, where: .source(bundle: phone.bundle)) }
        #expect(found.count == 1)
        #expect(try sum(store) == 120)
        #expect(try store.read { try $0.sources() }.map { $0.source.name }.sorted() == ["Phone", "Watch"])
        try store.close()

        store = try opened()
        let renamed = Source(bundle: phone.bundle, name: "Telefon", product: phone.product)
        try store.save(steps(1, 500, 600, renamed))
        #expect(try sum(store) == 121)
        try store.close()
    }
}
