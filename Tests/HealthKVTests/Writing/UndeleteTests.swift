import Foundation
import HealthKV
import TestSupport
import Testing

@testable import HealthKV

@Suite("Deletions are undone, and saves that store nothing can be made to say so")
struct UndeleteTests {
    private let clock = TestClock()
    private let store: SampleStore

    init() throws {
        var options = SampleStore.Options.small(mapSize: 64 << 20)
        options.clock = { [clock] in clock.now }
        store = try .temporary(options: options)
    }

    private func entry(_ value: Double = 72) -> Sample {
        // Two at one time would shadow each other.
        var sample = Sample(.bodyMass, value, .kilogram, at: .day(Int(value)), group: "scales")
        sample.metadata["note"] = .string("before breakfast")
        sample.local = ["mood": .string("fine")]
        sample.timeZone = "Europe/Berlin"
        return sample
    }

    private func bring(_ sample: Sample) throws {
        var batch = SampleBatch()
        batch.append(sample)
        let whole = batch
        _ = try store.write { try $0.importBatch(whole) }
    }

    @Test("An undeleted sample is as it was, one version above the deletion, and the feed tells of it")
    func wholeSample() throws {
        let saved = entry()
        try store.write { _ = try $0.save(saved) }
        let held = try #require(try store.read { try $0.sample(id: saved.id) })
        try store.write { _ = try $0.delete(id: saved.id) }
        let token = try store.read { $0.currentToken }
        let deleted = try #require(try store.read { try $0.deletedSample(id: saved.id) })
        let back = try #require(try store.write { try $0.undelete(id: saved.id) })
        #expect(back.version == deleted.version + 1)
        var same = back
        (same.version, same.modified) = (held.version, held.modified)
        #expect(same == held)
        #expect(try store.read { try $0.sample(id: saved.id) } == back)
        #expect(try store.read { try $0.deletedSample(id: saved.id) } == nil)
        #expect(try store.read { try $0.changes(since: token) }.changes.map(\.kind) == [.saved(back)])
        #expect(try store.write { try $0.undelete(id: saved.id) } == nil, "it lives")
        // Deleted again it can be brought back again.
        try store.write { _ = try $0.delete(id: saved.id) }
        #expect(try store.write { try $0.undelete(id: saved.id) }?.version == deleted.version + 2)
        try store.expectClean()
        try store.close()
    }

    @Test("C5: a deleted meal stays deleted as a whole, also when it is saved with a nutrient more")
    func deletedMeal() throws {
        let meal = Meal(id: "17", at: .day(1), protein: .grams(12), fat: .grams(4))
        _ = try store.write { try $0.save(meal) }
        _ = try store.write { try $0.deleteMeal(id: meal.id) }
        let more = Meal(id: "17", at: .day(1), protein: .grams(12), fat: .grams(4), fiber: .grams(3))
        for _ in 0..<2 {
            let outcomes = try store.write { try $0.save(more) }
            #expect(outcomes.allSatisfy { $0 == .vetoed } && outcomes.count == 3)
            #expect(try store.read { try $0.count() } == 0)
        }
    }

    @Test("C5: a sample that was deleted from another group does not keep a new group from being saved")
    func reusedMember() throws {
        let member = Sample(.dietaryProtein, 5, .gram, at: .day(1))
        let other = Sample(.dietaryFatTotal, 7, .gram, at: .day(1))
        _ = try store.write { try $0.save(group: "lunch", [member]) }
        _ = try store.write { try $0.delete(id: member.id) }
        let outcomes = try store.write { try $0.save(group: "dinner", [member, other]) }
        #expect(outcomes == [.vetoed, .inserted])
    }

    @Test("C5: an import that a group no longer has comes back with it")
    func droppedImport() throws {
        func imported(_ type: SampleType, _ id: UInt64) -> Sample {
            Sample(
                type, 5, .gram, from: .day(1), to: .day(1), source: Source(bundle: "com.example.food", name: "Food"),
                id: SampleID(high: 7, low: id), version: 1, origin: .imported)
        }
        let (one, two) = (imported(.dietaryProtein, 1), imported(.dietaryFatTotal, 2))
        for members in [[one, two], [one], [one, two]] { _ = try store.write { try $0.save(group: "g", members) } }
        #expect(try store.read { try $0.count() } == 2)
    }

    @Test("C34: a nutrient that a saved meal no longer has is undone with it")
    func droppedNutrient() throws {
        let meal = Meal(id: "17", at: .day(1), protein: .grams(12), fiber: .grams(4))
        _ = try store.write { try $0.save(meal) }
        let without = Meal(id: "17", at: .day(1), protein: .grams(12))
        let token = try store.write { txn in try txn.recordingUndo { _ = try $0.save(without) } }
        #expect(try store.read { try $0.count() } == 1)
        let report = try store.write { try $0.undo(token) }
        #expect(report.undeleted == 1 && report.left == 0)
        #expect(try store.read { try $0.samples(of: .dietaryFiber) }.map(\.quantity.value) == [4])
    }

    @Test("A deleted group comes back member by member")
    func group() throws {
        let entries = (0..<5).map { entry(70 + Double($0)) }
        try store.write { _ = try $0.save(entries) }
        #expect(try store.write { try $0.delete(.group("scales")) } == 5)
        let back = try store.write { txn in try entries.compactMap { try txn.undelete(id: $0.id) } }
        #expect(back.map(\.quantity.value) == [70, 71, 72, 73, 74])
        #expect(try store.read { try $0.count(of: .bodyMass) } == 5)
        try store.expectClean()
        try store.close()
    }

    @Test(
        "An import that was deleted or hidden is shown again with its own version, and later pulls may change it",
        arguments: [true, false])
    func imported(hides: Bool) throws {
        var sample = entry()
        (sample.origin, sample.source, sample.version) = (.imported, Source(bundle: "scale", name: "Scale"), 3)
        (sample.syncIdentifier, sample.local) = ("s", [:])
        let brought = sample
        try bring(brought)
        try store.write { _ = hides ? try $0.hide(id: brought.id) : try $0.delete(id: brought.id) }
        #expect(try store.write { try $0.undelete(id: brought.id) }?.version == 3)
        (sample.version, sample.quantity.value) = (4, 75)
        let next = sample
        try bring(next)
        #expect(try store.read { try $0.sample(id: brought.id) }?.quantity.value == 75)
        try store.expectClean()
        try store.close()
    }

    @Test("What a deleted sample was is kept for thirty days, and not beyond a compaction or the removal of its source")
    func kept() throws {
        func deleteOne() throws -> SampleID {
            let sample = entry()
            try store.write { _ = try $0.save(sample) }
            try store.write { _ = try $0.delete(id: sample.id) }
            return sample.id
        }
        let first = try deleteOne()
        clock.advance(by: 20 * 86_400_000_000_000)
        while try store.maintain() {}
        let second = try deleteOne()
        clock.advance(by: 11 * 86_400_000_000_000)
        while try store.maintain() {}
        #expect(try store.write { try $0.undelete(id: first) } == nil)
        #expect(try store.write { try $0.undelete(id: second) } != nil)
        let third = try deleteOne()
        try store.compactInPlace()
        #expect(try store.write { try $0.undelete(id: third) } == nil)
        let (fourth, own) = (try deleteOne(), store.ownSource.identity)
        try store.write { _ = try $0.purge(.source(SourceIdentity(bundle: "scale", name: "Scale"))) }
        #expect(try store.write { try $0.undelete(id: fourth) } != nil, "another source's")
        try store.write { _ = try $0.delete(id: fourth) }
        try store.write { _ = try $0.purge(.source(own)) }
        #expect(try store.write { try $0.undelete(id: fourth) } == nil)
        try store.expectClean()
        try store.close()
    }

    @Test("A deletion is not undone over what was saved under its sync identifier since")
    func identifierTaken() throws {
        var (first, second) = (entry(), entry(80))
        (first.syncIdentifier, second.syncIdentifier, second.version) = ("today", "today", 9)
        let (old, new) = (first, second)
        try store.write { _ = try $0.save(old) }
        try store.write { _ = try $0.delete(id: old.id) }
        #expect(try store.write { try $0.save(new) } == .inserted)
        #expect(try store.write { try $0.undelete(id: old.id) } == nil)
        #expect(try store.read { try $0.samples(of: .bodyMass) }.map(\.quantity.value) == [80])
        try store.expectClean()
        try store.close()
    }

    // SEMANTICS C34: a save that stored nothing cannot be overlooked. Each function says what became of each sample,
    // and with `orThrow` each throws. The compiler lets a caller ignore the result otherwise.
    @Test("C34: each way of saving says of which samples nothing was stored, and stores the others")
    func everyWay() throws {
        let (gone, other) = (entry(70), entry(71))
        try store.write { txn in
            _ = try txn.save(gone)
            _ = try txn.delete(id: gone.id)
        }
        #expect(try store.write { try $0.save(gone) } == .vetoed)
        #expect(try store.write { try $0.save([gone, other]) } == [.vetoed, .inserted])
        #expect(try store.write { try $0.merge(gone) } == .vetoed)
        var batch = SampleBatch()
        batch.append(gone)
        let whole = batch
        #expect(try store.write { try $0.importBatch(whole) }.vetoed == 1)
        #expect(throws: StoreError.self) { try store.write { try $0.save(gone, orThrow: true) } }
        let meal = Meal(id: "17", at: .day(1), protein: .grams(12), fat: .grams(4))
        #expect(try store.write { try $0.save(meal) } == [.inserted, .inserted])
        #expect(try store.write { try $0.deleteMeal(id: meal.id) } == 2)
        #expect(try store.write { try $0.save(meal) } == [.vetoed, .vetoed])
        #expect(try store.write { try $0.save(group: meal.id, meal.samples()) } == [.vetoed, .vetoed])
        #expect(try store.read { try $0.count() } == 1)
        try store.expectClean()
        try store.close()
    }

    @Test("C34: A save that is to throw does so where it stores nothing, and only there")
    func throwing() throws {
        var sample = entry()
        let saved = sample
        #expect(try store.write { try $0.save(saved, orThrow: true) } == .inserted)
        #expect(try store.write { try $0.save(saved, orThrow: true) } == .unchanged)
        (sample.version, sample.quantity.value) = (5, 73.8125)
        let later = sample
        #expect(try store.write { try $0.save(later, orThrow: true) } == .replaced)
        (sample.version, sample.quantity.value) = (4, 74)
        let older = sample
        #expect(throws: StoreError.self) { try store.write { try $0.save(older, orThrow: true) } }
        #expect(try store.write { try $0.save(older, orThrow: false) } == .older)
        try store.write { _ = try $0.delete(id: saved.id) }
        do {
            try store.write { _ = try $0.save(later, orThrow: true) }
            Issue.record("nothing was thrown")
        } catch let error as StoreError {
            #expect(error.code == .notStored)
            #expect("\(error)".contains(saved.id.description) && !"\(error)".contains("73.8125"))
        }
        try store.expectClean()
        try store.close()
    }

    @Test("C34: several samples, a group and a meal that are to be stored or to throw change nothing when they throw")
    func throwingTogether() throws {
        let (gone, kept, other) = (entry(70), entry(71), entry(72))
        let meal = Meal(id: "17", at: .day(1), protein: .grams(12), fat: .grams(4))
        let empty = Meal(id: "18", at: .day(2), protein: .grams(12))
        try store.write { txn in
            _ = try txn.save([gone, kept], orThrow: true)
            _ = try txn.delete(id: gone.id)
            _ = try txn.save(meal, orThrow: true)
            _ = try txn.deleteMeal(id: meal.id)
        }
        func expectNotStored(_ change: @escaping @Sendable (inout WriteTransaction) throws -> [SaveOutcome]) throws {
            let before = try store.read { $0.currentToken }
            let error = #expect(throws: StoreError.self) { try store.write { try change(&$0) } }
            #expect(error?.code == .notStored)
            #expect(try store.read { $0.currentToken } == before)
        }
        try expectNotStored { try $0.save([other, gone], orThrow: true) }
        try expectNotStored { try $0.save(meal, orThrow: true) }
        try expectNotStored { try $0.save(group: meal.id, meal.samples(), orThrow: true) }
        #expect(try store.write { try $0.save([other, gone], orThrow: false) } == [.inserted, .vetoed])
        #expect(try store.write { try $0.save([other, kept], orThrow: true) } == [.unchanged, .unchanged])
        #expect(try store.write { try $0.save(group: meal.id, meal.samples(), orThrow: false) } == [.vetoed, .vetoed])
        #expect(try store.write { try $0.save(group: "18", empty.samples(), orThrow: true) } == [.inserted])
        #expect(try store.write { try $0.save(empty, orThrow: true) } == [.unchanged])
        try store.expectClean()
        try store.close()
    }

    @Test("A call is undone as a whole: what it deleted lives, what it saved is gone, and nothing else has changed")
    func call() throws {
        let (old, kept) = ((0..<5).map { entry(70 + Double($0)) }, entry(60))
        try store.write { txn in for sample in old + [kept] { _ = try txn.save(sample) } }
        let new = (0..<3).map { entry(80 + Double($0)) }
        let token = try store.write { txn in
            // Another call may share the commit.
            _ = try txn.delete(id: kept.id)
            let token = try txn.recordingUndo { txn in
                for sample in old { _ = try txn.delete(id: sample.id) }
                for sample in new { _ = try txn.save(sample) }
            }
            _ = try txn.save(entry(90))
            return token
        }
        let copy = try JSONDecoder().decode(UndoToken.self, from: JSONEncoder().encode(token))
        let report = try store.write { try $0.undo(copy) }
        #expect((report.undeleted, report.deleted, report.left) == (5, 3, 0))
        let values = try store.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }.map(
            \.quantity.value)
        #expect(values.sorted() == [70, 71, 72, 73, 74, 90])
        // Undone again there is nothing to undo, and what was undone can be had back.
        #expect(try store.write { try $0.undo(token) } == UndoReport())
        #expect(try store.write { try $0.undelete(id: new[0].id) } != nil)
        try store.expectClean()
        try store.close()
    }

    @Test("What changed since, edits and imports are left as they are, and counted") func left() throws {
        let (first, second) = (entry(70), entry(71))
        var brought = entry(75)
        (brought.origin, brought.source) = (.imported, Source(bundle: "scale", name: "Scale"))
        let imported = brought
        try store.write { txn in for sample in [first, second] { _ = try txn.save(sample) } }
        let added = [entry(80), entry(81)]
        let token = try store.write { txn in
            try txn.recordingUndo { txn in
                var edited = first
                edited.quantity.value = 69
                _ = try txn.save(edited)
                for sample in added { _ = try txn.save(sample) }
                try txn.merge(imported)
                _ = try txn.delete(id: second.id)
            }
        }
        var later = added[1]
        later.quantity.value = 79
        try store.write { [later] in _ = try $0.save(later) }
        let report = try store.write { try $0.undo(token) }
        #expect((report.undeleted, report.deleted, report.left) == (1, 1, 2))
        let values = try store.read { try $0.samples(SampleQuery(.bodyMass, includeShadowed: true)) }.map(
            \.quantity.value)
        #expect(values.sorted() == [69, 71, 75, 79])
        try store.expectClean()
        try store.close()
    }

    @Test("A commit is undone by its number, as the feed tells it") func commit() throws {
        let entries = (0..<1_500).map { entry(Double(60 + $0)) }
        try store.write { txn in for sample in entries[..<100] { _ = try txn.save(sample) } }
        let before = try store.read { $0.currentToken }
        try store.write { txn in for sample in entries[..<50] { _ = try txn.delete(id: sample.id) } }
        try store.write { txn in for sample in entries[100...] { _ = try txn.save(sample) } }
        let changes = try store.read { try $0.changes(since: before, limit: 2_000) }.changes
        let commits = Set(changes.map(\.token.commit)).sorted()
        #expect(commits.count == 2)
        #expect(try store.write { try $0.undo(commit: commits[1]) }.deleted == 1_400)
        #expect(try store.write { try $0.undo(commit: commits[0]) }.undeleted == 50)
        #expect(Set(try store.read { try $0.samples(of: .bodyMass) }.map(\.id)) == Set(entries[..<100].map(\.id)))
        #expect(try store.write { try $0.undo(commit: 0) } == UndoReport())
        try store.expectClean()
        try store.close()
    }

    @Test("Another store's changes, and those of a restored one, are not undone") func otherStore() throws {
        let token = try store.write { txn in try txn.recordingUndo { _ = try $0.save(entry()) } }
        let other = try SampleStore.temporary()
        _ = try other.write { try $0.save(entry()) }
        expectError(.tokenExpired) { try other.write { _ = try $0.undo(token) } }
        // Nor is what the same call does, which no commit has yet.
        expectError(.tokenExpired) {
            try store.write { txn in
                let own = try txn.recordingUndo { _ = try $0.save(entry(99)) }
                _ = try txn.undo(own)
            }
        }
        #expect(try other.read { try $0.count() } == 1)
        try other.close()
        try store.close()
    }

    @Test("A deletion that was told again since is left, and counted") func toldAgain() throws {
        let sample = entry()
        _ = try store.write { try $0.save(sample) }
        let token = try store.write { txn in try txn.recordingUndo { _ = try $0.delete(id: sample.id) } }
        _ = try store.write { _ = try $0.save(entry(73)) }
        try store.write { try $0.tellDeletionsAgain(of: [sample], before: $0.currentToken) }
        let report = try store.write { try $0.undo(token) }
        #expect((report.undeleted, report.deleted, report.left) == (0, 0, 1))
        #expect(try store.write { try $0.undelete(id: sample.id) } != nil)
        try store.expectClean()
        try store.close()
    }
}
