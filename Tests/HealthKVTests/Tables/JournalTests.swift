import ColumnFormat
import LMDB
import Testing
import TestSupport

@testable import HealthKV

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Commits that are in the journal and not in the tables yet.
@Suite struct JournalTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/store" }
    private var journal: String { path + "/" + StoreFiles.journal }

    private static func options(_ journaled: Int = 256) -> SampleStore.Options {
        var options = SampleStore.Options.small(mapSize: 64 << 20)
        options.limits.journaledCommits = journaled
        return options
    }

    private func weight(_ number: Int) -> Sample {
        Sample(.bodyMass, 70 + Double(number) / 10, .kilogram, at: .day(number))
    }

    /// A store with this many weights, each in a commit of its own. The first commit has no journal yet.
    private func filled(_ count: Int, _ options: SampleStore.Options = JournalTests.options()) throws -> SampleStore {
        let store = try SampleStore.open(at: path, options: options)
        for number in 0..<count { try store.save(weight(number)) }
        return store
    }

    /// Copies the files of the open store, as a killed process leaves them.
    private func killedCopy() throws -> String {
        let copy = folder.path + "/killed"
        #expect(FileSystem.makeFolder(copy))
        for name in ["/data.mdb", "/" + StoreFiles.journal] {
            FileSystem.write(FileSystem.bytes(of: path + name), to: copy + name)
        }
        return copy
    }

    private func values(_ store: SampleStore) throws -> [Double] {
        try store.read { try $0.samples(of: .bodyMass).map(\.quantity.value) }
    }

    private func expected(_ count: Int) -> [Double] { (0..<count).map { 70 + Double($0) / 10 } }

    @Test("Small commits go into the journal, every read sees them, and closing moves them into the tables")
    func small() throws {
        let store = try filled(20)
        #expect(store.core.file.journaledCommits == 18)
        #expect(try values(store) == expected(20))
        #expect(try store.read { try $0.count(of: .bodyMass) } == 20)
        try store.expectClean()
        let before = FileSystem.bytes(of: path + "/data.mdb")
        try store.save(weight(20))
        #expect(FileSystem.bytes(of: path + "/data.mdb") == before, "the tables are as they were")
        #expect(try store.write { try $0.delete(id: try $0.latest(of: .bodyMass)!.id) })
        #expect(try values(store) == expected(20))
        try store.close()
        let again = try SampleStore.open(at: path, options: Self.options())
        #expect(again.core.file.journaledCommits == 0)
        #expect(try values(again) == expected(20))
        try again.expectClean()
        try again.close()
    }

    @Test(
        "What a killed process left in the journal is there for the next, to read and to write",
        arguments: [true, false])
    func killed(readOnly: Bool) throws {
        let store = try filled(30)
        var options = Self.options()
        options.readOnly = readOnly
        let copy = try SampleStore.open(at: try killedCopy(), options: options)
        #expect(try values(copy) == expected(30))
        try copy.expectClean()
        if !readOnly {
            try copy.save(weight(30))
            #expect(try values(copy) == expected(31))
        }
        try copy.close()
        let again = try SampleStore.open(at: folder.path + "/killed", options: Self.options())
        #expect(try values(again) == expected(readOnly ? 30 : 31))
        try again.expectClean()
        try again.close()
        try store.close()
    }

    @Test("What a process finds in the journal, its first commit moves into the tables: the disk may have lost it")
    func foundFrames() async throws {
        await #expect(processExitsWith: .success) { [path = path as String] in
            var options = JournalTests.options()
            options.maintainsWhenIdle = false
            let store = try SampleStore.open(at: path, options: options)
            for number in 0..<20 {
                try await store.write {
                    _ = try $0.save(Sample(.bodyMass, 70 + Double(number) / 10, .kilogram, at: .day(number)))
                }
            }
            // Killed.
            _exit(store.core.file.journaledCommits == 18 ? 0 : 1)
        }
        var options = Self.options()
        options.maintainsWhenIdle = false
        let store = try SampleStore.open(at: path, options: options)
        #expect(try values(store) == expected(20))
        #expect(store.core.file.journaledCommits == 18)
        let before = FileSystem.bytes(of: path + "/data.mdb")
        try await store.write { [weight = weight(20)] in _ = try $0.save(weight) }
        #expect(store.core.file.journaledCommits == 0)
        #expect(FileSystem.bytes(of: path + "/data.mdb") != before)
        let moved = FileSystem.bytes(of: path + "/data.mdb")
        try await store.write { [weight = weight(21)] in _ = try $0.save(weight) }
        #expect(try values(store) == expected(22))
        #expect(store.core.file.journaledCommits == 1)
        #expect(FileSystem.bytes(of: path + "/data.mdb") == moved, "from now on into the journal")
        try store.expectClean()
        try store.close()
    }

    @Test("A last frame that is not whole is a commit that never happened; what comes next takes its place")
    func torn() throws {
        let store = try filled(30)
        let known = try #require(try self.known(store))
        let copy = try killedCopy()
        var bytes = FileSystem.bytes(of: copy + "/" + StoreFiles.journal)
        bytes[known.offset - 9] ^= 1
        FileSystem.write(bytes, to: copy + "/" + StoreFiles.journal)
        let torn = try SampleStore.open(at: copy, options: Self.options())
        #expect(try values(torn) == expected(29))
        try torn.expectClean()
        try torn.save(weight(29))
        #expect(try values(torn) == expected(30))
        try torn.close()
        try store.close()
    }

    @Test("A frame that is damaged before later ones is damage, and no end of the journal")
    func damaged() throws {
        let store = try filled(30)
        let copy = try killedCopy()
        var bytes = FileSystem.bytes(of: copy + "/" + StoreFiles.journal)
        bytes[48] ^= 1
        FileSystem.write(bytes, to: copy + "/" + StoreFiles.journal)
        var options = Self.options()
        options.limits.ignoresPlace = true
        let opened = try? SampleStore.open(at: copy, options: options)
        if let opened { expectError(.damaged) { try values(opened) } }
        expectError(.damaged) {
            let again = try SampleStore.open(at: copy, options: Self.options())
            _ = try values(again)
        }
        try opened?.close()
        let report = try SampleStore.check(at: copy)
        #expect(report.findings.contains { $0.detail.contains("journal") }, "\(report.findings)")
        try store.close()
    }

    @Test(
        "Damage of what names the frame before is damage, and a repair counts what is lost", arguments: [0, 1, 17, 26])
    func damagedChain(frame: Int) throws {
        let store = try filled(30)
        let copy = try killedCopy()
        let file = copy + "/" + StoreFiles.journal
        let commits = try #require(try known(store)).count
        var bytes = FileSystem.bytes(of: file)
        var offset = 0
        for _ in 0..<frame { offset += Int(bytes.rawBytes.word(offset + 16) + 7) & ~7 }
        for byte in 8..<16 { bytes[offset + byte] = 0 }
        FileSystem.write(bytes, to: file)
        var options = Self.options()
        options.limits.ignoresPlace = true
        for readOnly in [false, true] {
            options.readOnly = readOnly
            expectError(.damaged) {
                let opened = try SampleStore.open(at: copy, options: options)
                defer { try? opened.close() }
                return try values(opened)
            }
        }
        #expect(try !SampleStore.check(at: copy).isClean)
        let report = try SampleStore.repair(at: copy, to: folder.path + "/mended")
        #expect(report.commitsLost == commits - frame && report.isLossy)
        let mended = try SampleStore.open(at: folder.path + "/mended", options: Self.options())
        #expect(try values(mended) == expected(30 - report.commitsLost))
        try mended.close()
        try store.close()
    }

    @Test("A journal that somebody removes or replaces under a writer takes no later commit", arguments: [false, true])
    func replaced(puts: Bool) throws {
        let store = try filled(10)
        #expect(store.core.file.journaledCommits > 0)
        #expect(FileSystem.remove(journal))
        if puts { FileSystem.write([UInt8](repeating: 0, count: 2 << 20), to: journal) }
        for number in 10..<20 { try store.save(weight(number)) }
        let killed = folder.path + "/killed"
        #expect(FileSystem.makeFolder(killed))
        for name in FileSystem.names(in: path) ?? [] where name != "lock.mdb" {
            FileSystem.write(FileSystem.bytes(of: path + "/" + name), to: killed + "/" + name)
        }
        let opened = try SampleStore.open(at: killed, options: Self.options())
        #expect(try values(opened) == expected(20))
        try opened.close()
        #expect(try values(store) == expected(20))
        try store.close()
    }

    @Test("A signed frame of very many changes takes no longer than reading it", .timeLimit(.minutes(30)))
    func manyChanges() throws {
        let store = try filled(10)
        let copy = try killedCopy()
        let file = copy + "/" + StoreFiles.journal
        let known = try #require(try self.known(store))
        var bytes = FileSystem.bytes(of: file)
        var writer = ByteWriter()
        writer.append(0 as UInt64)
        writer.append(known.chain)
        writer.append(0 as UInt64)
        writer.append(known.last + 1)
        writer.append(known.base)
        let count = (bytes.count - known.offset - 40) / 11
        for number in (0..<count).reversed() {
            writer.append(TableCode.anchors.rawValue)
            writer.append(4 as UInt16)
            writer.append(0 as UInt32)
            writer.appendBigEndian(UInt32(number))
        }
        writer.overwrite(16, UInt64(writer.count))
        writer.overwrite(0, Checksum.hash(writer.bytes, 8..<writer.count))
        bytes.replaceSubrange(known.offset..<known.offset + writer.count, with: writer.bytes)
        FileSystem.write(bytes, to: file)
        let began = ContinuousClock.now
        var options = Self.options()
        options.readOnly = true
        let opened = try SampleStore.open(at: copy, options: options)
        #expect(try values(opened) == expected(10))
        print("\(count) changes: \(ContinuousClock.now - began)")
        try opened.close()
        // A file that is longer than any that a store makes is not read.
        FileSystem.write([UInt8](repeating: 0, count: 16 << 20 + 8), to: file)
        expectError(.damaged) {
            let opened = try SampleStore.open(at: copy, options: options)
            defer { try? opened.close() }
            return try values(opened)
        }
        try store.close()
    }

    @Test(
        "A journal with arbitrary bytes gives an error or what was there at some commit, also where its checksums are right",
        arguments: [false, true])
    func mutated(forged: Bool) throws {
        var random = SeededGenerator()
        let store = try filled(40)
        let copy = try killedCopy()
        let file = copy + "/" + StoreFiles.journal
        let sound = FileSystem.bytes(of: file)
        let end = try #require(try known(store)).offset
        var options = Self.options()
        options.readOnly = true
        var (refused, right) = (0, 0)
        for _ in 0..<300 {
            var bytes = sound
            for _ in 0..<random.number(1..<4) {
                let place = random.number(0..<end)
                switch random.number(0..<3) {
                case 0: bytes[place] ^= 1 << UInt8(random.number(0..<8))
                case 1: bytes[place] = UInt8(random.number(0..<256))
                default:
                    for offset in place..<min(end, place + random.number(1..<600)) { bytes[offset] = 0 }
                }
            }
            if forged { Self.sign(&bytes, end) }
            FileSystem.write(bytes, to: file)
            do {
                let opened = try SampleStore.open(at: copy, options: options)
                defer { try? opened.close() }
                let found = try values(opened)
                if !forged { #expect(found == expected(found.count)) }
                _ = try opened.check()
                right += 1
            } catch let error as StoreError {
                #expect([.damaged, .newerFormat].contains(error.code), "\(error)")
                refused += 1
            }
        }
        #expect(refused > 0)
        #expect(refused + right == 300)
        try store.close()
    }

    @Test("A journal that looks like a long frame everywhere does not hold up opening", .timeLimit(.minutes(30)))
    func framesEverywhere() throws {
        let store = try filled(30)
        let copy = try killedCopy()
        let file = copy + "/" + StoreFiles.journal
        let known = try #require(try self.known(store))
        let (end, size) = (known.offset, 192 << 10)
        var bytes = Array(FileSystem.bytes(of: file).prefix(size))
        var writer = ByteWriter()
        // A frame that follows and is not whole, and behind it later ones, each to the end of the file.
        for (number, offset) in stride(from: end, to: size - 40, by: 40).enumerated() {
            writer.append(1 as UInt64)
            writer.append(known.chain)
            writer.append(UInt64(size - offset - 8))
            writer.append(known.last + 1 + UInt64(number))
            writer.append(known.base)
        }
        bytes.replaceSubrange(end..<end + writer.bytes.count, with: writer.bytes)
        FileSystem.write(bytes, to: file)
        expectError(.damaged) {
            let opened = try SampleStore.open(at: copy, options: Self.options())
            _ = try values(opened)
        }
        #expect(try !SampleStore.check(at: copy).isClean)
        try store.close()
    }

    /// Makes the checksums of all frames right again, as somebody who forges them does.
    private static func sign(_ bytes: inout [UInt8], _ end: Int) {
        var (offset, before) = (0, bytes.rawBytes.word(8))
        while offset + 40 <= end {
            let count = Int(truncatingIfNeeded: bytes.rawBytes.word(offset + 16))
            guard count >= 40, count <= end - offset else { return }
            var writer = ByteWriter()
            writer.bytes = Array(bytes[offset..<offset + count])
            writer.overwrite(8, before)
            before = Checksum.hash(writer.bytes, 8..<count)
            writer.overwrite(0, before)
            bytes.replaceSubrange(offset..<offset + count, with: writer.bytes)
            offset += (count + 7) & ~7
        }
    }

    /// A change in a frame.
    private struct Change {
        let offset: Int
        let table: UInt8
        let key: [UInt8]
        let value: Range<Int>
    }

    /// The changes of all frames, in their order.
    private static func changes(_ bytes: [UInt8], _ end: Int) -> [Change] {
        func number(_ offset: Int, _ count: Int) -> Int {
            (0..<count).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
        }
        var (changes, frame): ([Change], Int) = ([], 0)
        while frame + 40 <= end {
            let count = number(frame + 16, 8)
            guard count >= 40, count <= end - frame else { break }
            var offset = frame + 40
            while offset < frame + count {
                let (key, value) = (number(offset + 1, 2), number(offset + 3, 4))
                let start = offset + 7 + key
                let next = value == Int(UInt32.max) ? start : start + value
                changes.append(
                    Change(
                        offset: offset, table: bytes[offset], key: Array(bytes[offset + 7..<start]), value: start..<next
                    ))
                offset = next
            }
            frame += (count + 7) & ~7
        }
        return changes
    }

    @Test(
        "A journal with a header or a chunk of a newer version, or with a table of a newer release, is no damage",
        arguments: ["header", "chunk", "table"])
    func newer(kind: String) throws {
        let store = try filled(30)
        let end = try #require(try known(store)).offset
        let copy = try killedCopy()
        let file = copy + "/" + StoreFiles.journal
        var bytes = FileSystem.bytes(of: file)
        let changes = Self.changes(bytes, end)
        let last = try #require(changes.last)
        #expect(last.table == TableCode.meta.rawValue && last.key == StoreHeader.key)
        if kind == "table" {
            bytes[last.offset] = try #require(TableCode.allCases.map(\.rawValue).max()) + 1
        } else {
            let isOfChunks = { (change: Change) in change.table == TableCode.chunks.rawValue && !change.value.isEmpty }
            let raised = kind == "header" ? last : try #require(changes.last(where: isOfChunks))
            var value = Array(bytes[raised.value])
            NewerFormatTests.raise(&value)
            bytes.replaceSubrange(raised.value, with: value)
        }
        Self.sign(&bytes, end)
        FileSystem.write(bytes, to: file)
        expectError(.newerFormat) {
            let opened = try SampleStore.open(at: copy, options: Self.options())
            defer { try? opened.close() }
            return try values(opened)
        }
        try store.close()
    }

    @Test(
        "A journal that cannot be read is an error: it may hold what nothing else does",
        arguments: ["short", "link", "pipe", "folder"])
    func unreadable(kind: String) throws {
        let store = try filled(30)
        let copy = try killedCopy()
        let file = copy + "/" + StoreFiles.journal
        #expect(FileSystem.remove(file))
        switch kind {
        case "short": FileSystem.write([1, 2, 3], to: file)
        case "link": #expect(unsafe symlink(journal, file) == 0)
        case "pipe": #expect(unsafe mkfifo(file, 0o600) == 0)
        default: #expect(FileSystem.makeFolder(file))
        }
        expectError(.damaged) {
            let opened = try SampleStore.open(at: copy, options: Self.options())
            defer { try? opened.close() }
            return try values(opened)
        }
        try store.close()
    }

    @Test("An older state of the tables that is copied back takes nothing from a journal that was moved")
    func copiedBack() throws {
        let store = try filled(10)
        try store.close()
        let old = FileSystem.bytes(of: path + "/data.mdb")
        let again = try SampleStore.open(at: path, options: Self.options())
        for number in 10..<20 { try again.save(weight(number)) }
        #expect(again.core.file.journaledCommits == 10)
        try again.close()
        let handle = unsafe open(path + "/data.mdb", O_WRONLY | O_TRUNC)
        #expect(unsafe old.withUnsafeBytes { unsafe write(handle, $0.baseAddress, $0.count) } == old.count)
        close(handle)
        let notices = Notices()
        var options = Self.options()
        options.onNotice = { notices.note($0) }
        let restored = try SampleStore.open(at: path, options: options)
        #expect(try values(restored) == expected(10))
        #expect(notices.codes.contains(.restored))
        try restored.expectClean()
        try restored.close()
    }

    @Test("Where nobody notices that an older state was copied back, its old frames are not taken for damage later")
    func copiedBackUnnoticed() throws {
        var options = Self.options()
        options.limits.ignoresPlace = true
        try filled(10, options).close()
        let old = FileSystem.bytes(of: path + "/data.mdb")
        let again = try SampleStore.open(at: path, options: options)
        for number in 10..<20 { try again.save(weight(number)) }
        #expect(again.core.file.journaledCommits == 10)
        try again.close()
        FileSystem.write(old, to: path + "/data.mdb")
        let restored = try SampleStore.open(at: path, options: options)
        for number in 10..<13 {
            try restored.save(weight(number))
            let killed = try SampleStore.open(at: try killedCopy(), options: options)
            #expect(try values(killed) == expected(number + 1))
            try killed.expectClean()
            try killed.close()
            for name in FileSystem.names(in: folder.path + "/killed") ?? [] {
                FileSystem.remove(folder.path + "/killed/" + name)
            }
            FileSystem.removeFolder(folder.path + "/killed")
        }
        try restored.close()
    }

    @Test("A journal holds commits only over tables that name its file, which others look for when the tables change")
    func named() throws {
        let store = try filled(1)
        expectNoJournal(store)
        do {
            try store.write { _ in throw Refusal() }
            Issue.record("the closure threw")
        } catch is Refusal {}
        #expect(FileSystem.size(of: journal) != nil, "the file is there, and no commit names it")
        try store.save(weight(1))
        expectNoJournal(store)
        try store.save(weight(2))
        #expect(store.core.file.journaledCommits == 1)
        // A copy of the folder has another file of this name.
        let copy = try SampleStore.open(at: try killedCopy(), options: Self.options())
        #expect(try values(copy) == expected(3))
        try copy.save(weight(3))
        expectNoJournal(copy)
        try copy.save(weight(4))
        #expect(copy.core.file.journaledCommits == 1)
        #expect(try values(copy) == expected(5))
        try copy.expectClean()
        try copy.close()
        try store.close()
    }

    private func expectNoJournal(_ store: SampleStore, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(store.core.file.journaledCommits == 0, sourceLocation: sourceLocation)
    }

    @Test("A closure that throws leaves nothing behind among those that share its commit")
    func undone() throws {
        let store = try filled(10)
        let gate = Gate()
        let first = Thread { try? store.write { _ in gate.wait() } }
        var threads: [Thread] = []
        for number in 10..<30 {
            threads.append(
                Thread {
                    _ = try? store.write { txn in
                        try txn.save(Sample(.bodyMass, 70 + Double(number) / 10, .kilogram, at: .day(number)))
                        try txn.save(Sample(.height, 1.8, .meter, at: .day(number)))
                        if number % 2 == 0 { throw Refusal() }
                    }
                })
        }
        gate.open()
        first.join()
        for thread in threads { thread.join() }
        let odd = (10..<30).filter { $0 % 2 == 1 }.map { 70 + Double($0) / 10 }
        #expect(try values(store) == expected(10) + odd)
        #expect(try store.read { try $0.count(of: .height) } == 10)
        #expect(store.core.file.journaledCommits > 0)
        try store.expectClean()
        try store.close()
    }

    @Test("A transaction that writes much writes to the tables, with what was in the journal before it")
    func large() throws {
        let store = try filled(10)
        #expect(store.core.file.journaledCommits > 0)
        try store.write { txn in
            for number in 10..<2_000 {
                try txn.save(Sample(.bodyMass, 70 + Double(number) / 10, .kilogram, at: .day(number)))
            }
        }
        #expect(store.core.file.journaledCommits == 0)
        #expect(try values(store) == expected(2_000))
        try store.save(weight(2_000))
        #expect(store.core.file.journaledCommits == 1)
        try store.expectClean()
        try store.close()
    }

    @Test("A journal that is full is moved into the tables by the commit that it cannot hold any more")
    func full() throws {
        var options = Self.options(1_000_000)
        options.limits.journalFileBytes = 32 << 10
        let store = try filled(200, options)
        #expect(try values(store) == expected(200))
        #expect(store.core.file.journaledCommits < 100)
        try store.expectClean()
        try store.close()
    }

    @Test("Backups, compacted copies and compaction in place hold what is in the journal")
    func copies() throws {
        let store = try filled(25)
        #expect(store.core.file.journaledCommits > 0)
        try store.backup(to: folder.path + "/backup")
        try store.compact(to: folder.path + "/compact")
        for name in ["/backup", "/compact"] {
            let copy = try SampleStore.open(at: folder.path + name, options: Self.options())
            #expect(try values(copy) == expected(25))
            try copy.expectClean()
            try copy.close()
        }
        try store.compactInPlace()
        #expect(try values(store) == expected(25))
        for number in 25..<30 { try store.save(weight(number)) }
        #expect(try values(store) == expected(30))
        try store.expectClean()
        try store.close()
    }

    @Test("A write that the journal's disk refuses poisons the store, and the next opening has what was acknowledged")
    func refused() throws {
        #if os(Linux)
            let store = try filled(10)
            let full = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
            #expect(dup2(full, try #require(descriptor(of: journal))) >= 0)
            close(full)
            expectError(.full) { try store.save(weight(10)) }
            #expect(try values(store) == expected(10))
            try store.close()
            let again = try SampleStore.open(at: path, options: Self.options())
            #expect(try values(again) == expected(10))
            try again.save(weight(10))
            try again.expectClean()
            try again.close()
        #endif
    }

    @Test("Random histories are the same with and without a journal", arguments: 0..<4)
    func random(run: Int) throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let clock = TestClock()
        var stores: [SampleStore] = []
        for (number, journaled) in [0, 1, 7, 1_000].enumerated() {
            var options = Self.options(journaled)
            options.clock = { clock.now }
            options.limits.skipsSync = true
            options.limits.header = stores.first?.core.options.limits.header ?? StoreHeader()
            stores.append(try SampleStore.open(at: folder.path + "/store\(number)", options: options))
        }
        var ids: [SampleID] = []
        for step in 0..<300 {
            clock.advance(by: 1_000_000_000)
            let kind = random.number(0..<10)
            let number = random.number(0..<400)
            let picked = ids.isEmpty ? nil : random.pick(ids)
            let fresh = SampleID(high: random.next(), low: random.next())
            for store in stores {
                try store.write { txn in
                    switch kind {
                    case 0..<5:
                        var sample = Sample(.stepCount, Double(number), .count, at: .day(number))
                        sample.id = fresh
                        try txn.save(sample)
                    case 5, 6:
                        guard let picked, var held = try txn.sample(id: picked) else { return }
                        held.quantity.value += 1
                        held.version = 0
                        try txn.save(held)
                    case 7:
                        if let picked { _ = try txn.delete(id: picked) }
                    case 8:
                        for part in 0..<20 {
                            var sample = Sample(.bodyMass, Double(60 + part), .kilogram, at: .day(number, part))
                            sample.id = SampleID(high: fresh.high, low: fresh.low &+ UInt64(part))
                            try txn.save(sample)
                        }
                    default:
                        if let picked { _ = try txn.undelete(id: picked) }
                    }
                }
                if step % 50 == 49 { while try store.maintain() {} }
            }
            if kind < 5 || kind == 8 { ids.append(fresh) }
            if step % 20 == 0 {
                let held = try stores.map { try $0.read { try $0.samples(of: .stepCount) + $0.samples(of: .bodyMass) } }
                for other in held.dropFirst() { #expect(other == held[0]) }
                let changes = try stores.map { store in
                    try store.read { try $0.changes(since: nil, limit: 10_000).changes.count }
                }
                #expect(Set(changes).count == 1)
            }
        }
        for store in stores {
            try store.expectClean()
            try store.close()
        }
    }

    private func known(_ store: SampleStore) throws -> JournaledCommits? {
        let file = store.core.file
        let transaction = try file.environment.beginRead()
        return try file.journal(of: transaction.view, transaction: transaction.id)
    }

    #if os(Linux)
        private func descriptor(of path: String) -> Int32? {
            (FileSystem.names(in: "/proc/self/fd") ?? []).compactMap { Int32($0) }.first { descriptor in
                var buffer = [CChar](repeating: 0, count: 4_096)
                let length = unsafe readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
                return buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) } == Array(path.utf8)
            }
        }
    #endif
}
