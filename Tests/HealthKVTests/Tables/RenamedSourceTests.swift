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

    @Test("C33: a batch without ids that an app imports again under another name adds nothing, and brings nothing back")
    func batches() throws {
        try withStore { store throws in
            func steps(_ source: Source, days: Range<Int>) -> SampleBatch {
                var batch = SampleBatch()
                let kind = batch.kind(.stepCount, .count, source: source)
                for day in days {
                    // Two of a day are alike.
                    for _ in 0..<2 { batch.append(kind: kind, start: .day(day), end: .day(day) + 60, value: 7) }
                }
                return batch
            }
            #expect(try store.importBatch(steps(old, days: 0..<10)).inserted == 20)
            try store.write { txn in _ = try txn.delete(id: txn.samples(of: .stepCount)[4].id) }
            let ids = try store.read { try Set($0.samples(of: .stepCount).map(\.id)) }
            let again = try store.importBatch(steps(new, days: 0..<12))
            #expect((again.inserted, again.unchanged, again.vetoed) == (4, 19, 1))
            try store.read { txn in
                let all = try txn.samples(of: .stepCount)
                #expect(all.count == 23 && ids.isSubset(of: all.map(\.id)))
                // What was there keeps the name that it was written under.
                #expect(
                    all.map(\.source.name) == Array(repeating: "Scale", count: 19) + Array(repeating: "Waage", count: 4)
                )
            }
            // A third name, against chunks that hold rows of two.
            var third = new
            third.name = "Balance"
            #expect(try store.importBatch(steps(third, days: 0..<12)).inserted == 0)
            try store.expectClean()
        }
    }

    @Test(
        "C33: a meal that its app saves again under another name is the same meal: no nutrient doubles, and it goes as one",
        arguments: [true, false])
    func meals(isOwn: Bool) throws {
        let folder = TemporaryFolder()
        func open(as source: Source) throws -> SampleStore {
            var options = SampleStore.Options()
            if isOwn { options.source = source }
            return try SampleStore.open(at: folder.path + "/store", options: options)
        }
        let soup = Meal(
            id: "17", at: .day(0), name: "Soup", protein: .grams(12), carbohydrates: .grams(30), fat: .grams(4))
        let before = try open(as: old)
        let first = try before.write { try $0.save(soup, source: isOwn ? .thisApp : old) }
        #expect(first == Array(repeating: .inserted, count: 3))
        let ids = try before.read { try $0.samples(group: soup.id) }.map(\.id)
        try before.close()

        let store = try open(as: new)
        let source = isOwn ? Source.thisApp : new
        var bowl = soup
        bowl[.dietaryProtein] = Quantity(14, .gram)
        bowl[.dietaryFatTotal] = nil
        bowl[.dietaryFiber] = Quantity(5, .gram)
        let edited = bowl
        let second = try store.write { try $0.save(edited, source: source) }
        #expect(second.count == 3 && second.count { $0 == .inserted } == 1)
        #expect(second.allSatisfy { $0 != .vetoed && $0 != .older })
        try store.read { txn in
            let held = try txn.samples(group: edited.id)
            #expect(held.count == 3 && Meal(held) == edited)
            #expect(Set(held.map(\.id)).intersection(ids).count == 2)
            #expect(held.contains { $0.source == new })
            let meals = try txn.meals(from: .day(0), to: .day(1))
            #expect(meals.map(\.amounts) == [[.dietaryProtein: 14, .dietaryCarbohydrates: 30, .dietaryFiber: 5]])
            #expect(try txn.count() == 3)
        }
        #expect(try store.write { try $0.deleteMeal(id: edited.id, source: source) } == 3)
        #expect(try store.read { try $0.count() } == 0)
        #expect(try store.write { try $0.save(edited, source: source) } == Array(repeating: .vetoed, count: 3))
        try store.expectClean()
        try store.close()
    }
}
