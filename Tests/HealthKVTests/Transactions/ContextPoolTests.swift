import LMDB
import Testing
import TestSupport

@testable import HealthKV

/// Reads reuse what earlier reads of the same snapshot learned, and never what reads of another one did.
@Suite struct ContextPoolTests {
    private func weight(_ day: Int, _ value: Double) -> Sample { Sample(.bodyMass, value, .kilogram, at: .day(day)) }

    private func latest(in store: SampleStore) throws -> Double? {
        try store.read { try $0.latest(of: .bodyMass)?.quantity.value }
    }

    /// Whether the second of two reads has the context of the first.
    private func reuses(_ store: SampleStore, between: () throws -> Void = {}) throws -> Bool {
        // Kept, so that no other context can have its address.
        let first = try store.read { $0.context }
        try between()
        return try store.read { $0.context === first }
    }

    @Test("A read of the same snapshot continues with the context of the one before") func reuse() throws {
        try withStore { store throws in
            try store.save(weight(1, 70))
            #expect(try reuses(store))
            #expect(try latest(in: store) == 70)
            #expect(try latest(in: store) == 70)
        }
    }

    @Test("A read after a commit knows nothing from before it") func afterCommit() throws {
        try withStore { store throws in
            try store.save(weight(1, 70))
            #expect(try !reuses(store) { try store.save(weight(2, 71)) })
            #expect(try latest(in: store) == 71)
            // A type that the reads before did not know to have samples.
            #expect(try store.read { try $0.latest(of: .height) } == nil)
            try store.save(Sample(.height, 1.8, .meter, at: .day(3)))
            #expect(try store.read { try $0.latest(of: .height)?.quantity.value } == 1.8)
            // An hour-long sample, of a partition that did not exist.
            try store.save(Sample(.bodyMass, 72, .kilogram, from: .day(4), to: .day(4, 3_600)))
            #expect(try latest(in: store) == 72)
            let ids = try store.read { try $0.samples(of: .bodyMass).map(\.id) }
            try store.write { txn in for id in ids { try txn.delete(id: id) } }
            #expect(try latest(in: store) == nil)
        }
    }

    @Test("Reads inside a read, and inside a write, have contexts of their own") func nested() throws {
        try withStore { store throws in
            try store.save(weight(1, 70))
            try store.read { outer in
                let inner = try store.read { ObjectIdentifier($0.context) }
                #expect(inner != ObjectIdentifier(outer.context))
                #expect(try outer.latest(of: .bodyMass)?.quantity.value == 70)
            }
            let added = weight(2, 71)
            let seen = try store.write { txn in
                try txn.save(added)
                return try store.read { try $0.latest(of: .bodyMass)?.quantity.value }
            }
            #expect(seen == 70, "a read sees what is durable")
            #expect(try latest(in: store) == 71)
        }
    }

    @Test("A read that ends after a newer one does not take its place") func lateReader() throws {
        try withStore { store throws in
            try store.save(weight(1, 70))
            try store.read { outer in
                try store.save(weight(2, 71))
                #expect(try latest(in: store) == 71)
                #expect(try outer.latest(of: .bodyMass)?.quantity.value == 70)
            }
            #expect(try latest(in: store) == 71)
        }
    }

    @Test("A compaction, a larger map and a suspension begin again") func otherFiles() throws {
        let folder = TemporaryFolder()
        var options = SampleStore.Options()
        options.mapSize = 1 << 20
        options.sizeLimit = 1 << 30
        let store = try SampleStore.open(at: folder.path, options: options)
        try store.save(weight(1, 70))
        #expect(try latest(in: store) == 70)
        #expect(try !reuses(store) { try store.compactInPlace() })
        #expect(try latest(in: store) == 70)
        #expect(
            try !reuses(store) {
                try store.suspend()
                try store.resume()
            })
        #expect(try latest(in: store) == 70)
        let map = store.core.environment.mapNumber
        for day in 0..<400 where store.core.environment.mapNumber == map {
            try store.write { txn in
                for second in 0..<100 { try txn.save(Sample(.stepCount, 1, .count, at: .day(day, second))) }
            }
        }
        #expect(store.core.environment.mapNumber > map)
        #expect(try latest(in: store) == 70)
        try store.expectClean()
        try store.close()
    }

    @Test("Many threads that read while samples are saved see each commit") func threads() async throws {
        let store = try SampleStore.temporary()
        let isDone = Monitor(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    var last = 0.0
                    while !isDone.withLock({ $0 }) {
                        let (value, count) = try store.read {
                            (try $0.latest(of: .bodyMass)?.quantity.value ?? 0, try $0.count(of: .bodyMass))
                        }
                        #expect(value == Double(count), "both are of one snapshot")
                        #expect(value >= last)
                        last = value
                    }
                }
            }
            for number in 1...200 { try store.save(weight(number, Double(number))) }
            isDone.withLock { $0 = true }
            try await group.waitForAll()
        }
        try store.expectClean()
        try store.close()
    }
}
