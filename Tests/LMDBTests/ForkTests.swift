import LMDB
import Testing
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite struct ForkTests {
    @Test("A forked child is refused, and does not disturb the reads of its parent")
    func fork() async throws {
        // Runs in a separate process, so that no other test is forked too.
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let environment = try Environment(folder: folder.path)
            let table = try environment.makeTable()
            try environment.write { try $0.put(table, [1], [2]) }
            let transaction = try environment.beginRead()
            let snapshot = transaction.id
            let ending = try environment.beginRead()
            let child = forkProcess()
            if child == 0 {
                let isRefused = code { _ = try environment.beginRead() } == .forked
                let isWriteRefused = code { try environment.write { _ in } } == .forked
                let isInfoRefused = code { _ = try environment.info() } == .forked
                let isResizeRefused = code { try environment.adoptSize() } == .forked
                _ = consume ending
                let closes = environment.close()
                _exit(isRefused && isWriteRefused && isInfoRefused && isResizeRefused && closes ? 0 : 1)
            }
            var status: Int32 = -1
            #expect(unsafe waitpid(child, &status, 0) == child)
            #expect(status == 0)
            let snapshots = try environment.readers().compactMap(\.transaction)
            #expect(snapshots == [snapshot, snapshot], "the child must not release the parent's snapshot")
            let value = try transaction.view.get(table, [1])?.array
            #expect(value == [2])
            try environment.write { try $0.put(table, [1], [3]) }
            try environment.expectIntact()
        }
    }

    @Test("A released lock on a folder is free even while a child that was forked meanwhile is alive")
    func folderLocks() async throws {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let claim = try #require(FolderClaim(folder.path))
            var ends: [Int32] = [-1, -1]
            #expect(unsafe pipe(&ends) == 0)
            let child = forkProcess()
            if child == 0 {
                close(ends[1])
                var byte: UInt8 = 0
                // Blocks until the parent has checked the lock or has ended.
                _ = unsafe read(ends[0], &byte, 1)
                _exit(0)
            }
            claim.release()
            let again = FolderClaim(folder.path)
            #expect(again != nil, "the child has the descriptor, but does not hold the lock")
            again?.release()
            close(ends[1])
            var status: Int32 = -1
            #expect(unsafe waitpid(child, &status, 0) == child)
            #expect(status == 0)
        }
    }
}

/// Swift hides `fork`, because little works in the child. These tests use only what does.
private func forkProcess() -> pid_t {
    typealias Fork = @convention(c) () -> pid_t
    guard let symbol = unsafe dlsym(nil, "fork") else { fatalError("no fork") }
    return unsafe unsafeBitCast(symbol, to: Fork.self)()
}
