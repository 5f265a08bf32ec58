import LMDB
import Testing
import TestSupport

@testable import HealthKV

@Suite("A file that is rolled back by copying an older state of it over itself")
struct RolledBackTests {
    /// A closed store that was copied when it held one weight, and held more when it was closed.
    private struct RolledBack {
        let folder = TemporaryFolder()
        let before: StoreInfo
        /// Up to where a reader had come when the copy was made, and at the end.
        let (early, late): (ChangeToken, ChangeToken)
        var path: String { folder.path + "/store" }

        init() throws {
            let path = folder.path + "/store"
            let first = try SampleStore.open(at: path)
            try first.save(RolledBackTests.weight(0))
            try first.write { txn in
                try txn.setAnchor(Anchor(peer: "peer", type: .bodyMass, token: [7], time: .day(0)))
            }
            early = try first.read { $0.currentToken }
            try first.close()
            let copy = FileSystem.bytes(of: path + "/data.mdb")
            let second = try SampleStore.open(at: path)
            for day in 1..<5 { try second.save(RolledBackTests.weight(day)) }
            (late, before) = try (second.read { $0.currentToken }, second.info())
            try second.close()
            let file = FileSystem.identity(of: path + "/data.mdb")
            FileSystem.write(copy, to: path + "/data.mdb")
            #expect(FileSystem.identity(of: path + "/data.mdb") == file, "as cp does it")
        }

        func loseAttribute() { FileSystem.setAttribute(WrittenPlace.attribute, of: path + "/data.mdb", []) }
    }

    private static func weight(_ day: Int) -> Sample { Sample(.bodyMass, 70, .kilogram, at: .day(day)) }

    private static var keepsAttributes: Bool {
        let folder = TemporaryFolder()
        FileSystem.write([1], to: folder.path + "/file")
        return FileSystem.setAttribute(WrittenPlace.attribute, of: folder.path + "/file", [1])
    }

    @Test(
        "It begins a new epoch as another replica, drops its anchors, and says so once",
        .enabled(if: keepsAttributes, "the file system keeps no attributes"))
    func noticed() throws {
        let rolled = try RolledBack()
        let notices = Notices()
        var options = SampleStore.Options()
        options.onNotice = { notices.note($0) }
        let store = try SampleStore.open(at: rolled.path, options: options)
        let info = try store.info()
        #expect(info.samples == 1)
        #expect(info.replica != rolled.before.replica)
        #expect(info.epoch > rolled.before.epoch)
        #expect(try store.read { try $0.anchors() }.isEmpty)
        for token in [rolled.early, rolled.late] {
            expectError(.tokenExpired) { try store.read { try $0.changes(since: token) } }
        }
        try store.expectClean()
        try store.close()
        let again = try SampleStore.open(at: rolled.path, options: options)
        #expect(try again.info().epoch == info.epoch)
        #expect(notices.codes == [.restored])
        try again.close()
    }

    @Test(
        "A copy from before the last restoration is known too, though its epoch is older",
        .enabled(if: keepsAttributes, "the file system keeps no attributes"))
    func olderEpoch() throws {
        let rolled = try RolledBack()
        let copy = FileSystem.bytes(of: rolled.path + "/data.mdb")
        let first = try SampleStore.open(at: rolled.path)
        let epoch = try first.info().epoch
        try first.close()
        FileSystem.write(copy, to: rolled.path + "/data.mdb")
        let second = try SampleStore.open(at: rolled.path)
        #expect(try second.info().epoch != rolled.before.epoch && second.info().epoch != epoch)
        try second.close()
    }

    @Test(
        "Where the file system keeps no attribute, a token of what was lost is refused, also once as much was written again"
    )
    func forked() throws {
        let rolled = try RolledBack()
        rolled.loseAttribute()
        let store = try SampleStore.open(at: rolled.path)
        #expect(try store.info().epoch == rolled.before.epoch, "nothing tells")
        #expect(try store.read { try $0.fit(of: rolled.late) } == .ahead)
        #expect(try store.read { try $0.changes(since: rolled.early).changes.isEmpty })
        for day in 1..<9 { try store.save(Self.weight(day)) }
        #expect(try store.info().commit > rolled.before.commit)
        #expect(try store.read { try $0.fit(of: rolled.late) } == .forked)
        expectError(.tokenExpired) { try store.read { try $0.changes(since: rolled.late) } }
        expectError(.tokenExpired) { try store.write { try $0.acknowledge(peer: "peer", rolled.late) } }
        #expect(try store.read { try $0.changes(since: rolled.early).changes.count } == 8)
        try store.close()
    }

    @Test("Commits that change no sample cost no reader its place, in whichever copy they were made")
    func quietCommits() throws {
        let rolled = try RolledBack()
        rolled.loseAttribute()
        let store = try SampleStore.open(at: rolled.path)
        for number in 0..<3 { try store.write { try $0.setSyncNote("note", [UInt8(number)]) } }
        let quiet = try store.read { $0.currentToken }
        #expect(quiet.mark == rolled.early.mark)
        try store.save(Self.weight(1))
        #expect(try store.read { try $0.changes(since: quiet).changes.count } == 1)
        try store.close()
    }

    @Test("A killed writer, a suspended one and compaction in place leave no store that takes itself for rolled back")
    func noFalseAlarm() async throws {
        let folder = TemporaryFolder()
        let path = folder.path
        try SampleStore.open(at: path).close()
        let epoch = try SampleStore.epoch(at: path)
        await #expect(processExitsWith: .failure) { [path = path as String] in
            let store = try SampleStore.open(at: path)
            for day in 0..<20 { try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(day))) }
            fatalError("as if killed")
        }
        #expect(try SampleStore.epoch(at: path) == epoch)
        let store = try SampleStore.open(at: path)
        try store.save(Self.weight(30))
        try store.suspend()
        try store.resume()
        try store.save(Self.weight(31))
        try store.compactInPlace()
        try store.close()
        #expect(try SampleStore.epoch(at: path) == epoch)
        if Self.keepsAttributes { #expect(WrittenPlace.token(of: path) != nil, "the new file has its attribute") }
    }
}

extension SampleStore {
    fileprivate static func epoch(at path: String) throws -> UInt32 {
        let store = try SampleStore.open(at: path)
        defer { try? store.close() }
        return try store.info().epoch
    }
}
