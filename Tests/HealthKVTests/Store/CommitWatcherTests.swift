import Foundation
import TestSupport
import Testing

@testable import HealthKV

/// The watch that tells of other processes' commits ends when it is told to, and serves those that still wait.
@Suite struct CommitWatcherTests {
    private func ends(within seconds: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
        let isDone = DispatchSemaphore(value: 0)
        Foundation.Thread {
            body()
            isDone.signal()
        }
        .start()
        return isDone.wait(timeout: .now() + .seconds(seconds)) == .success
    }

    @Test("A watch ends also when somebody begins to wait meanwhile")
    func stopping() {
        let folder = TemporaryFolder()
        let watcher = CommitWatcher()
        let path = folder.path
        _ = watcher.enter(path, seen: 0) {
            while watcher.rest() != .ended { _ = watcher.enter(path, seen: 0) {} }
        }
        #expect(ends(within: 120) { watcher.stop() })
        #expect(!watcher.isWatching)
    }

    @Test("A watch that nothing wakes looks again within a tenth of a second")
    func lookingUnasked() {
        let folder = TemporaryFolder()
        let watcher = CommitWatcher()
        let ticket = watcher.enter(folder.path, seen: 0) {}
        // The quickest of several: the machine may be busy elsewhere.
        let rests = (0..<5).map { _ in ContinuousClock().measure { #expect(watcher.rest() != .ended) } }
        #expect(rests.min()! < .milliseconds(100))
        #expect(rests.max()! > .milliseconds(20), "it must rest, too")
        watcher.leave(ticket)
        #expect(watcher.rest() == .ended)
    }

    @Test("Who waited before a stop and leaves behind it takes nobody else's place")
    func tickets() {
        let folder = TemporaryFolder()
        let watcher = CommitWatcher()
        let watch: @Sendable () -> Void = { while watcher.rest() != .ended {} }
        let early = (0..<3).map { _ in watcher.enter(folder.path, seen: 0, watch) }
        watcher.stop()
        #expect(!watcher.isWatching)
        let late = watcher.enter(folder.path, seen: 7, watch)
        for ticket in early { watcher.leave(ticket) }
        Foundation.Thread.sleep(forTimeInterval: 0.1)
        #expect(watcher.isWatching)
        #expect(!watcher.takeNews(7) && watcher.takeNews(8) && !watcher.takeNews(9))
        watcher.leave(late)
        for _ in 0..<6_000 where watcher.isWatching { Foundation.Thread.sleep(forTimeInterval: 0.01) }
        #expect(!watcher.isWatching)
    }
}
