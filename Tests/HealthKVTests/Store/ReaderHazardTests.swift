import LMDB
import Synchronization
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

/// Readers that stay, readers that died, and closing under them.
@Suite struct ReaderHazardTests {
    @Test(
        "The snapshot of a killed process is cleared when the store is opened, and now and then by a store that is open"
    )
    func staleReaders() async throws {
        let folder = TemporaryFolder()
        try SampleStore.open(at: folder.path).close()
        for isOpen in [false, true] {
            var options = SampleStore.Options.small()
            options.limits.commitsBetweenReaderChecks = 3
            let notices = Notices()
            options.onNotice = { notices.note($0) }
            let open = isOpen ? try SampleStore.open(at: folder.path, options: options) : nil
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
                let store = try SampleStore.open(at: path)
                try store.read { _ in _ = kill(getpid(), SIGKILL) }
            }
            let store = try open ?? SampleStore.open(at: folder.path, options: options)
            if isOpen {
                let other = try store.info().readers.filter { $0.process != getpid() }
                #expect(other.count == 1 && other.first?.transaction != nil)
                for day in 0..<3 { try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(day))) }
            }
            // Where nobody else has the store open LMDB itself begins with an empty table.
            if isOpen { #expect(notices.codes.contains(.staleReaders)) }
            #expect(try store.info().readers.allSatisfy { $0.process == getpid() })
            try store.close()
        }
    }

    @Test("A reader that keeps its snapshot for long is reported once, while it lasts, and shows in info")
    func longReader() throws {
        let notices = Notices()
        var options = SampleStore.Options.small()
        options.limits.longReader = .milliseconds(20)
        options.onNotice = { notices.note($0) }
        let store = try SampleStore.temporary(options: options)
        try store.read { _ in
            pause(milliseconds: 40)
            #expect(notices.codes.isEmpty)
            try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
            try store.save(Sample(.bodyMass, 71, .kilogram, at: .day(1)))
            #expect(notices.codes == [.longReader])
            let info = try store.info()
            #expect(try #require(info.oldestReader) > .milliseconds(20))
            #expect(Notices.withoutOverlay(info.notices).map(\.code) == [.longReader])
        }
        #expect(notices.codes == [.longReader])
        try store.read { _ in }
        #expect(notices.codes == [.longReader], "short ones are not")
        try store.close()
    }

    @Test("A read that lasts longer than the options allow ends with an error, others do not")
    func boundedReader() throws {
        var options = SampleStore.Options.small()
        options.readTimeLimit = .milliseconds(400)
        let store = try SampleStore.temporary(options: options)
        try store.fill(thousands: 1)
        // On a machine that stands still for so long this one may end, too, but not always.
        var (count, tries) = (0, 0)
        while count == 0, tries < 20 {
            count = (try? store.read { try $0.samples(of: .stepCount).count }) ?? 0
            tries += 1
        }
        #expect(count == 1_000)
        expectError(.readerExpired) {
            try store.read { transaction in
                pause(milliseconds: 420)
                _ = try transaction.samples(of: .stepCount)
            }
        }
        try store.close()
    }

    @Test("Closing waits for a reader of another thread, which reads on undisturbed")
    func closing() throws {
        let folder = TemporaryFolder()
        let store = try SampleStore.open(at: folder.path, options: .small())
        try store.fill(thousands: 1)
        let began = Gate()
        let count = Atomic<Int>(0)
        let reader = Thread {
            try? store.read { transaction in
                began.open()
                pause(milliseconds: 60)
                count.store(try transaction.samples(of: .stepCount).count, ordering: .releasing)
            }
        }
        began.wait()
        try store.close()
        #expect(count.load(ordering: .acquiring) == 1_000, "the reader has read before the store is closed")
        reader.join()
        let again = try SampleStore.open(at: folder.path, options: .small())
        try again.expectClean()
        try again.close()
    }

    @Test("A forked child is told that the store is its parent's, and may open it again")
    func fork() async throws {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let store = try SampleStore.open(at: folder.path, options: .small())
            try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
            let child = forkProcess()
            if child == 0 {
                let again = try? SampleStore.open(at: folder.path, options: .small())
                let count = try? again?.read { try $0.count() }
                _exit(store.refusesFork && count == 1 ? 0 : 1)
            }
            var status: Int32 = -1
            #expect(unsafe waitpid(child, &status, 0) == child)
            #expect(status == 0)
            try store.save(Sample(.bodyMass, 71, .kilogram, at: .day(2)))
            try store.expectClean()
            try store.close()
        }
    }

    @Test("A forked child is told so, too, when another thread of its parent held the store's locks")
    func forkBesideLocks() async throws {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let store = try SampleStore.open(at: folder.path, options: .small())
            try store.save(Sample(.bodyMass, 70, .kilogram, at: .day(0)))
            let (begun, end) = (Gate(), Gate())
            let holder = Thread {
                store.core.readers.withLock { _ in
                    store.core.state.withLock { _ in
                        begun.open()
                        end.wait()
                    }
                }
            }
            begun.wait()
            let child = forkProcess()
            if child == 0 {
                // Instead of waiting for ever.
                alarm(120)
                _exit(store.refusesFork ? 0 : 1)
            }
            end.open()
            holder.join()
            var status: Int32 = -1
            #expect(unsafe waitpid(child, &status, 0) == child)
            #expect(status == 0)
            try store.close()
        }
    }

    @Test("An identifier longer than a key of LMDB may be is stored, found and deleted")
    func longKeys() throws {
        try withStore { store throws in
            for length in [1, 510, 511, 512, 5_000] {
                let name = String(repeating: "k", count: length)
                let sample = Sample(
                    .bodyMass, 70, .kilogram, from: .day(length), to: .day(length),
                    source: Source(bundle: name, name: name), syncIdentifier: name, metadata: [name: .string(name)],
                    group: name)
                try store.write { _ = try $0.save(sample) }
                #expect(try store.read { try $0.samples(syncIdentifier: name) }.map(\.id) == [sample.id])
                #expect(try store.read { try $0.samples(group: name) }.map(\.id) == [sample.id])
                #expect(try store.write { try $0.delete(.group(name)) } == 1)
            }
        }
    }
}

/// Swift hides `fork`, since little works in the child; that little is what is tested here.
private func forkProcess() -> pid_t {
    typealias Fork = @convention(c) () -> pid_t
    guard let symbol = unsafe dlsym(nil, "fork") else { fatalError("no fork") }
    return unsafe unsafeBitCast(symbol, to: Fork.self)()
}

extension SampleStore {
    /// Whether reading and writing tell that the store is a parent's.
    fileprivate var refusesFork: Bool {
        func code(_ call: () throws -> Void) -> StoreError.Code? {
            do { try call() } catch { return (error as? StoreError)?.code }
            return nil
        }
        return code { _ = try read { try $0.count() } } == .forked
            && code { try save(Sample(.bodyMass, 70, .kilogram, at: .day(1))) } == .forked
    }
}
