import ColumnFormat
import LMDB
import TestSupport
import Testing

@testable import HealthKV

/// The record of sessions says which session wrote which commits.
@Suite("The record of sessions")
struct SessionTableTests {
    private func save(_ store: SampleStore) throws {
        try store.write { txn in try txn.save(Sample(.bodyMass, 72, .kilogram, at: .day(1))) }
    }

    private func header(_ store: SampleStore) throws -> StoreHeader { try store.read { $0.snapshot.header } }

    private func ended(_ store: SampleStore) throws -> [CommitStamp] {
        try store.read { try SessionTable.read($0.snapshot.view, $0.snapshot.tables) }
    }

    @Test("Each opening for writing is a session, which its successor names with its last commit") func chain() throws {
        let folder = TemporaryFolder()
        var stamps: [CommitStamp] = []
        for _ in 0..<3 {
            let store = try SampleStore.open(at: folder.path)
            let before = try header(store).stamp
            stamps.append(before)
            try save(store)
            try save(store)
            let after = try header(store)
            #expect(after.session != before.session && after.session != 0)
            #expect(try ended(store) == stamps)
            try store.close()
        }
    }

    @Test("A store that is opened often names the last 64 sessions") func bounded() throws {
        let folder = TemporaryFolder()
        var last = CommitStamp(commit: 0, session: 0)
        for _ in 0..<70 {
            let store = try SampleStore.open(at: folder.path)
            last = try header(store).stamp
            try save(store)
            try store.close()
        }
        let store = try SampleStore.open(at: folder.path)
        #expect(try ended(store).count == 64)
        #expect(try ended(store).last == last)
        #expect(try store.check().isClean)
        try store.close()
    }
}
