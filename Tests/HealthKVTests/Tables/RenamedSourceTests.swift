import Testing
import TestSupport

@testable import HealthKV

@Suite("C31: a source with a bundle is that bundle, whatever its name")
struct RenamedSourceTests {
    private let old = Source(bundle: "org.scale", name: "Scale")
    private let new = Source(bundle: "org.scale", name: "Waage", version: "2")

    private func weight(_ day: Int, _ source: Source, sync: String? = nil, _ kilograms: Double = 70) -> Sample {
        var sample = Sample(.bodyMass, kilograms, .kilogram, at: .day(day), source: source)
        sample.syncIdentifier = sync
        return sample
    }

    @Test("Identities are equal by bundle, or by name where there is none, and are ordered and hashed alike")
    func identities() {
        let named = SourceIdentity(name: "org.scale")
        #expect(old.identity == new.identity && old != new)
        #expect(Set([old.identity, new.identity, named]).count == 2)
        #expect(named != old.identity)
        #expect(named < old.identity && !(old.identity < named))
        #expect(!(old.identity < new.identity) && !(new.identity < old.identity))
        #expect(!SourceIdentity(bundle: "a.bc", name: "").isSameApp(as: SourceIdentity(bundle: "a.b", name: "")))
        #expect(!SourceIdentity(name: "a.b").isSameApp(as: SourceIdentity(name: "a")))
    }

    @Test("Sync identifiers, filters, counts and deletion of the source go on under another name")
    func goesOn() throws {
        try withStore { store throws in
            try store.save(weight(0, old, sync: "a"))
            try store.save(weight(1, old))
            #expect(try store.save(weight(0, new, sync: "a", 71)) == .replaced)
            try store.save(weight(2, new))
            try store.read { txn in
                #expect(try txn.count() == 3)
                #expect(try txn.samples(SampleQuery(.bodyMass, source: old.identity)).count == 3)
                #expect(try txn.samples(SampleQuery(.bodyMass, source: SourceIdentity(name: "Waage"))).count == 3)
                #expect(try txn.samples(SampleQuery(.bodyMass, source: SourceIdentity(name: "Scale"))).count == 3)
                let sources = try txn.sources()
                #expect(sources.count == 1 && sources[0].revisions == [old, new])
                // Each sample keeps the name that it was written under.
                #expect(try txn.samples(of: .bodyMass).map(\.source.name) == ["Waage", "Scale", "Waage"])
                #expect(try Set(txn.rankedSources(of: .bodyMass).map(\.source)) == [new.identity])
            }
            let (before, after) = (old.identity, new.identity)
            let isDeleted = try store.write { txn in
                try txn.delete(.syncIdentifier("a", of: .bodyMass, source: before)) > 0
            }
            #expect(isDeleted)
            #expect(try store.save(weight(0, new, sync: "a", 72)) == .vetoed)
            let removed = try store.write { txn in try txn.delete(.source(after)) }
            #expect(removed == 2)
            try store.expectClean()
        }
    }
}
