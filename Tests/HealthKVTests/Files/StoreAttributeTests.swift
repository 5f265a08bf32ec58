import LMDB
import TestSupport
import Testing

@testable import HealthKV

/// What the options ask of data protection and backups: which folder and file gets what, and when. The calls themselves
/// are those of Apple's systems; here a recorder takes their place.
@Suite struct StoreAttributeTests {
    private struct Call: Equatable {
        let attribute: StoreAttribute
        let path: String
        /// Whether the data file was there already.
        let isLate: Bool
    }

    private final class Recorder: Sendable {
        private let all = Monitor<[Call]>([])
        let folder = TemporaryFolder()
        var path: String { folder.path + "/store" }

        /// The calls since the last time.
        func take() -> [Call] { all.withLock { exchange(&$0, with: []) } }

        func options(failing: Bool = false) -> SampleStore.Options {
            var options = SampleStore.Options.small(mapSize: 64 << 20)
            let data = path + "/data.mdb"
            options.limits.setAttribute = { attribute, path in
                let call = Call(attribute: attribute, path: path, isLate: FileSystem.size(of: data) != nil)
                self.all.withLock { $0.append(call) }
                return failing ? "refused" : nil
            }
            return options
        }
    }

    @Test(
        "The folder of a new store is protected and left out of backups before its data file is made, each file afterwards"
    )
    func newStore() throws {
        let recorder = Recorder()
        var options = recorder.options()
        options.fileProtection = .completeUntilFirstUserAuthentication
        let store = try SampleStore.open(at: recorder.path, options: options)
        let (protected, path) = (StoreAttribute.protection(.completeUntilFirstUserAuthentication), recorder.path)
        let calls = recorder.take()
        #expect(
            calls.prefix(2) == [
                Call(attribute: protected, path: path, isLate: false),
                Call(attribute: .excludedFromBackup(true), path: path, isLate: false),
            ])
        let files = Set(try #require(FileSystem.names(in: path))).map { path + "/" + $0 }.sorted()
        #expect(files.count >= 2 && calls.dropFirst(2).map(\.path).sorted() == files)
        #expect(calls.dropFirst(2).allSatisfy { $0.attribute == protected })
        try store.expectClean()
        try store.close()
    }

    @Test(
        "A store that was made without them gets the attributes when it is opened with them, and without them none is touched"
    )
    func laterOpening() throws {
        let recorder = Recorder()
        var options = recorder.options()
        options.isExcludedFromBackup = nil
        try SampleStore.open(at: recorder.path, options: options).close()
        #expect(recorder.take() == [])
        options.isExcludedFromBackup = false
        try SampleStore.open(at: recorder.path, options: options).close()
        #expect(
            recorder.take() == [Call(attribute: .excludedFromBackup(false), path: recorder.path, isLate: true)])
        options.isExcludedFromBackup = nil
        options.fileProtection = .noProtection
        try SampleStore.open(at: recorder.path, options: options).close()
        let paths = recorder.take().map(\.path)
        #expect(paths.first == recorder.path)
        #expect(Set(paths).isSuperset(of: [recorder.path + "/data.mdb", recorder.path + "/lock.mdb"]))
    }

    @Test("A store that is opened for reading changes no attribute")
    func readOnly() throws {
        let recorder = Recorder()
        try SampleStore.open(at: recorder.path, options: recorder.options()).close()
        _ = recorder.take()
        var options = recorder.options()
        options.readOnly = true
        options.fileProtection = .complete
        let store = try SampleStore.open(at: recorder.path, options: options)
        #expect(try store.read { try $0.count() } == 0)
        try store.close()
        #expect(recorder.take() == [])
    }

    @Test("A copy is as protected as the store from before its file is made, and backups take it along")
    func copies() throws {
        let recorder = Recorder()
        var options = recorder.options()
        options.fileProtection = .completeUnlessOpen
        let store = try SampleStore.open(at: recorder.path, options: options)
        try store.add(10, day: 0)
        for copy in [store.backup, store.compact] {
            _ = recorder.take()
            let place = recorder.folder.path + "/copy"
            try copy(place, nil)
            let calls = recorder.take()
            #expect(calls.map(\.attribute) == [.protection(.completeUnlessOpen)])
            #expect(calls.allSatisfy { $0.path.hasPrefix(place + ".partial-") })
            FileSystem.remove(place + "/data.mdb")
            #expect(FileSystem.removeFolder(place))
        }
        _ = recorder.take()
        // The file that takes the place of the store's is the store's.
        try store.compactInPlace()
        let calls = recorder.take()
        #expect(calls.contains { $0.path == recorder.path + "/data.mdb" })
        try store.expectClean()
        try store.close()
    }

    @Test("What the system refuses to set is told by a notice that names the folder, and the store is usable")
    func refused() throws {
        let (recorder, told) = (Recorder(), Monitor<[StoreNotice]>([]))
        var options = recorder.options(failing: true)
        options.onNotice = { notice in told.withLock { $0.append(notice) } }
        let store = try SampleStore.open(at: recorder.path, options: options)
        let notices = told.withLock { $0 }.filter { $0.code == .attribute }
        #expect(notices.map(\.path) == [recorder.path])
        #expect(notices.first?.detail == "It cannot be excluded from backups: refused")
        try store.add(10, day: 0)
        try store.expectClean()
        try store.close()
    }
}
