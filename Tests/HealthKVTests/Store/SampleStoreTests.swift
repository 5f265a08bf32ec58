import LMDB
import Testing
import TestSupport

@testable import HealthKV

/// Opening, closing, and the life of the folder.
@Suite struct SampleStoreTests {
    @Test("What was saved is read back whole") func roundTrip() throws {
        try withStore { store throws in
            var sample = Sample(
                .dietaryProtein, 12.5, .gram, from: .day(1), to: .day(1, 600),
                source: Source(
                    bundle: "org.example", name: "Kitchen", version: "2", product: "iPhone17,1", system: "19"),
                syncIdentifier: "meal-1-protein", version: 3, origin: .imported, isUserEntered: true,
                device: Device(name: "Scale", manufacturer: "Maker"),
                metadata: [
                    "text": .string("a"), "number": .number(-0.0), "flag": .bool(true), "date": .date(.day(2)),
                    "quantity": .quantity(Quantity(1, .liter)),
                ], group: "meal-1")
            sample.count = 4
            let saved = sample
            #expect(try store.write { try $0.save(saved) } == .inserted)
            let found = try store.read { try #require(try $0.sample(id: saved.id)) }
            sample.modified = found.modified
            #expect(found == sample)
            #expect(found.modified != nil)
            #expect(try store.read { try $0.samples(of: .dietaryProtein) } == [found])
            #expect(try store.read { try $0.samples(group: "meal-1") } == [found])
            #expect(try store.read { try $0.samples(syncIdentifier: "meal-1-protein") } == [found])
        }
    }

    @Test("A store that is opened again holds what was saved") func reopening() throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path)
        try store.write { try $0.save(Sample(.bodyMass, 72.4, .kilogram, at: .day(1))) }
        let before = try store.read { try $0.samples(of: .bodyMass) }
        try store.close()
        let again = try SampleStore.open(at: folder.path)
        #expect(try again.read { try $0.samples(of: .bodyMass) } == before)
        #expect(before.count == 1)
        try again.expectClean()
        try again.close()
    }

    @Test("A second opening of a folder shares the store, and the last close gives it back") func sharing() throws {
        let folder = TemporaryFolder()
        let first = try SampleStore.open(at: folder.path)
        let second = try SampleStore.open(at: folder.path + "/../" + folder.path.split(separator: "/").last!)
        #expect(first.core === second.core, "closing one of two would drop the locks of the other")
        try first.write { try $0.save(Sample(.bodyMass, 70, .kilogram, at: .day(1))) }
        #expect(try second.read { try $0.count(of: .bodyMass) } == 1)
        try first.close()
        try second.write { try $0.save(Sample(.bodyMass, 71, .kilogram, at: .day(2))) }
        #expect(try second.read { try $0.count(of: .bodyMass) } == 2)
        expectError(.closed) { try first.read { try $0.count() } }
        try second.expectClean()
        try second.close()
        let third = try SampleStore.open(at: folder.path)
        #expect(try third.read { try $0.count() } == 2)
        try third.close()
    }

    @Test("A temporary store removes its folder when it is closed, and when it is forgotten") func temporary() throws {
        let store = try SampleStore.temporary()
        let path = store.path
        #expect(FileSystem.isFolder(path))
        try store.write { try $0.save(Sample(.stepCount, 1, .count, at: .day(1))) }
        try store.close()
        #expect(!FileSystem.isFolder(path))
        let forgotten = try SampleStore.temporary().path
        #expect(!FileSystem.isFolder(forgotten))
    }

    @Test("A folder without a store is refused when none may be made") func missing() throws {
        let folder = TemporaryFolder()
        var options = SampleStore.Options()
        options.createIfMissing = false
        expectError(.noStore) { try SampleStore.open(at: folder.path, options: options) }
        options = SampleStore.Options()
        options.readOnly = true
        expectError(.noStore) { try SampleStore.open(at: folder.path, options: options) }
        #expect(try #require(FileSystem.names(in: folder.path)).isEmpty)
    }

    @Test("A store opened for reading only refuses to write") func readOnly() throws {
        let folder = TemporaryFolder()
        let writable = try SampleStore.open(at: folder.path)
        try writable.write { try $0.save(Sample(.stepCount, 7, .count, at: .day(1))) }
        try writable.close()
        var options = SampleStore.Options()
        options.readOnly = true
        let store = try SampleStore.open(at: folder.path, options: options)
        #expect(try store.read { try $0.count() } == 1)
        expectError(.readOnly) { try store.write { try $0.save(Sample(.stepCount, 7, .count, at: .day(1))) } }
        try store.expectClean()
        try store.close()
    }

    @Test("A closed store refuses every call, and closing again is no error") func closed() throws {
        let store = try SampleStore.temporary()
        try store.close()
        try store.close()
        expectError(.closed) { try store.read { try $0.count() } }
        expectError(.closed) { try store.write { _ = $0.commit } }
        expectError(.closed) { try store.check() }
    }

    @Test("Closing inside read or write is an error, and the store goes on") func closeInside() throws {
        try withStore { store throws in
            expectError(.nested) { try store.read { _ in try store.close() } }
            expectError(.nested) { try store.write { _ in try store.close() } }
            #expect(try store.write { try $0.save(Sample(.stepCount, 7, .count, at: .day(1))) } == .inserted)
        }
    }
}
