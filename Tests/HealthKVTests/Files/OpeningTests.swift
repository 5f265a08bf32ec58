import LMDB
import TestSupport
import Testing

@testable import HealthKV

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite("Opening damaged files")
struct OpeningTests {
    private func refusal(_ file: DamagedFile, readOnly: Bool = false) -> StoreError? {
        do {
            try file.readAll(readOnly: readOnly)
            return nil
        } catch {
            return error as? StoreError
        }
    }

    @Test("A cut file is refused before it is mapped, wherever it is cut", arguments: [false, true])
    func truncated(readOnly: Bool) throws {
        let file = try DamagedFile()
        let sound = try file.bytes
        let whole = sound.count
        for length in [1, 100, 4_096, 4_200, 8_192, 12_288, whole / 2, whole / 2 + 5, whole - 40_000] {
            try file.change { $0 = Array(sound.prefix(length)) }
            let error = try #require(refusal(file, readOnly: readOnly), "\(length) of \(whole)")
            #expect(error.code == .damaged && error.description.contains("data.mdb"), "\(error)")
            #expect(error.description.contains("kvinspect"), "it says what to do")
        }
    }

    @Test("An empty data file is refused, and not taken for a new store")
    func empty() throws {
        let file = try DamagedFile()
        try file.change { $0 = [] }
        let error = try #require(refusal(file))
        #expect(error.code == .damaged && error.description.contains("empty"))
    }

    #if os(Linux)
        @Test("A file that the system cannot read is not called damaged, by opening nor by a check")
        func unreadable() throws {
            let folder = TemporaryFolder()
            // The first page of the process's own memory is not mapped: reading it fails as on a failing disk.
            #expect(unsafe symlink("/proc/self/mem", folder.path + "/data.mdb") == 0)
            let error = #expect(throws: StoreError.self) { try SampleStore.check(at: folder.path) }
            #expect(error?.code == .storage)
            #expect("\(error!)".contains("Input/output error") && "\(error!)".contains("try again"), "\(error!)")
            FileSystem.remove(folder.path + "/data.mdb")
            // A folder is no file at all.
            #expect(FileSystem.makeFolder(folder.path + "/data.mdb"))
            expectError(.notAStore) { try OpeningWalk(folder: folder.path) }
            expectError(.notAStore) { try SampleStore.check(at: folder.path) }
        }
    #endif

    @Test("One ruined meta page is refused with the way out: the other one", arguments: [0, 1])
    func meta(index: Int) throws {
        let file = try DamagedFile()
        try file.fill(0, index * 4_096..<index * 4_096 + 152)
        let error = try #require(refusal(file))
        #expect(error.code == .damaged && error.description.contains("page \(index)"))
        #expect(error.description.contains("the other meta page is sound"))
    }

    @Test("A zeroed leaf page is refused with its number, and its store is as it was for those who look at pages")
    func zeroedLeaf() throws {
        var refused = 0
        let file = try DamagedFile()
        let sound = try file.bytes
        for page in try file.pages(kind: 2).prefix(40) {
            try file.change { $0 = sound }
            try file.fill(0, page * 4_096..<(page + 1) * 4_096)
            guard let error = refusal(file) else { continue }
            refused += 1
            #expect(error.code == .damaged && error.description.contains("page \(page)"), "\(error)")
        }
        #expect(refused > 0, "some of the pages are in use")
    }

    @Test("A zeroed body of a chunk costs that chunk: opening goes well, reading throws")
    func zeroedBody() throws {
        let file = try DamagedFile()
        let pages = try file.pages(kind: 4)
        try file.change { bytes in
            for page in pages { for index in page * 4_096 + 16..<(page + 1) * 4_096 { bytes[index] = 0 } }
        }
        let error = try #require(refusal(file))
        #expect(error.code == .damaged && error.underlying != nil, "the checksum of a value, not the shape of a page")
    }

    @Test("A value whose key was changed is found, though no look-up would miss it")
    func changedKey() throws {
        let file = try DamagedFile()
        let sound = try file.bytes
        // Keys of five bytes are those of names and counts.
        var changed = 0
        for page in try file.pages(kind: 2) {
            let at = page * 4_096
            let node = at + Int(sound[at + 16]) + Int(sound[at + 17]) << 8
            guard node + 16 < sound.count, sound[node + 6] == 5, sound[node + 4] == 0 else { continue }
            try file.change { bytes in
                bytes = sound
                bytes[node + 8 + 3] ^= 0x40
            }
            if let error = refusal(file) {
                if error.description.contains("under a wrong key") { changed += 1 }
                #expect(error.code == .damaged)
            }
        }
        #expect(changed > 0)
    }

    @Test("A header that belongs to another transaction than the meta pages is refused")
    func headerOfAnotherTransaction() throws {
        let file = try DamagedFile()
        // LMDB's metas have no checksum: both could come from another moment, and each be right in itself.
        try file.change { bytes in
            for meta in 0..<2 { bytes[meta * DamagedFile.page + 144] += 2 }
        }
        let error = try #require(refusal(file))
        #expect(error.code == .damaged && error.description.contains("another transaction"), "\(error)")
    }

    @Test("A file that is refused with the walk ends the process without it")
    func walkIsNeeded() async throws {
        let file = try DamagedFile()
        try file.change { $0 = Array($0.prefix(3 * DamagedFile.page)) }
        #expect(refusal(file)?.code == .damaged)
        await #expect(processExitsWith: .signal(SIGBUS)) { [path = file.folder.path as String] in
            var options = SampleStore.Options()
            options.limits.skipsWalk = true
            let store = try SampleStore.open(at: path, options: options)
            _ = try store.read { try $0.samples(of: .stepCount).count }
        }
    }
}
