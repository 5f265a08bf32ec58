import LMDB
import Synchronization
import Testing
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite struct WriterThreadTests {
    /// Records the order in which jobs ran.
    private final class Log: Sendable {
        private let lines = Mutex<[Int]>([])
        var all: [Int] { lines.withLock { $0 } }
        func note(_ line: Int) { lines.withLock { $0.append(line) } }
    }

    @Test("Jobs run alone, in order, on the writer's thread, and stop waits for them")
    func order() {
        let writer = WriterThread()
        let log = Log()
        for number in 0..<1000 {
            writer.perform { log.note(writer.isCurrent ? number : -1) }
        }
        #expect(!writer.isCurrent)
        writer.stop()
        #expect(log.all == Array(0..<1000))
    }

    @Test("After stop, no job is accepted")
    func stopped() {
        let writer = WriterThread()
        writer.stop()
        #expect(!writer.perform { Issue.record("it must not run") })
        writer.stop()
    }

    @Test("A job may stop the writer: the queue is finished, and the job does not wait for itself")
    func stoppingFromInside() {
        let writer = WriterThread()
        let log = Log()
        writer.perform {
            writer.perform { log.note(1) }
            writer.stop()
            log.note(0)
        }
        while log.all.count < 2 { sched_yield() }
        writer.stop()
        #expect(log.all == [0, 1])
    }

    @Test("A running job takes the queued jobs with it, in order and up to a limit")
    func takingQueued() {
        let writer = WriterThread()
        let log = Log()
        let isFilled = Mutex(false)
        writer.perform {
            while !isFilled.withLock({ $0 }) {}
            let first = writer.takeQueued(limit: 3)
            log.note(first.count)
            first.forEach { $0() }
            log.note(-1)
            writer.takeQueued(limit: 1).forEach { $0() }
        }
        for number in 10..<16 { writer.perform { log.note(number) } }
        isFilled.withLock { $0 = true }
        writer.stop()
        #expect(log.all == [3, 10, 11, 12, -1, 13, 14, 15])
    }

    @Test("Idle work runs while the queue is empty, and jobs go first")
    func idleWork() {
        let log = Log()
        let writer = WriterThread(idlePeriod: .milliseconds(1)) {
            log.note(-1)
            return log.all.count { $0 == -1 } < 3 ? .more : .none
        }
        writer.perform { log.note(1) }
        for _ in 0..<12_000 where log.all.count < 4 { usleep(5_000) }
        writer.stop()
        #expect(log.all == [1, -1, -1, -1])
    }

    @Test("Stopping the thread does not wait for idle work")
    func stoppingSkipsIdleWork() {
        let log = Log()
        let writer = WriterThread(idlePeriod: .milliseconds(1)) {
            log.note(-1)
            return .more
        }
        writer.perform { log.note(1) }
        writer.stop()
        #expect(log.all.first == 1)
    }

    @Test("The thread ends when idle, releases the writer, and starts again on demand")
    func endingWhenIdle() async throws {
        let log = Log()
        weak var ended: WriterThread?
        do {
            let writer = WriterThread(idlePeriod: .milliseconds(5))
            ended = writer
            for round in 0..<3 {
                writer.perform { log.note(writer.isCurrent ? round : -1) }
                try await Task.sleep(for: .milliseconds(60))
                #expect(!writer.isCurrent)
            }
        }
        for _ in 0..<3_000 where ended != nil { try await Task.sleep(for: .milliseconds(20)) }
        #expect(ended == nil)
        #expect(log.all == [0, 1, 2])
    }

    @Test("A new thread with the reused identity of an ended one is not mistaken for it")
    func reusedIdentity() async throws {
        let ended = WriterThread(idlePeriod: .milliseconds(1))
        ended.perform {}
        try await Task.sleep(for: .milliseconds(50))
        let log = Log()
        let writers = (0..<8).map { _ in WriterThread() }
        for writer in writers { writer.perform { log.note(ended.isCurrent ? 1 : 0) } }
        for writer in writers { writer.stop() }
        #expect(log.all == [Int](repeating: 0, count: 8))
    }

    @Test("Many threads may queue at once, and no job is lost or doubled")
    func concurrency() async {
        let writer = WriterThread(idlePeriod: .milliseconds(1))
        let log = Log()
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<200 { writer.perform { log.note(task * 200 + number) } }
                }
            }
        }
        writer.stop()
        #expect(log.all.sorted() == Array(0..<1600))
    }

    @Test("A stop whose wait times out is cancelled, and the thread accepts jobs again")
    func boundedStop() {
        let writer = WriterThread(idlePeriod: .seconds(60))
        let (begun, end, log) = (Gate(), Gate(), Log())
        writer.perform {
            begun.open()
            end.wait()
        }
        begun.wait()
        #expect(!writer.stop(atMost: .milliseconds(20)))
        #expect(writer.perform { log.note(1) })
        end.open()
        #expect(writer.stop(atMost: .seconds(30)))
        #expect(log.all == [1])
        #expect(!writer.perform { log.note(2) })
    }

    @Test("Write transactions run on the writer's thread")
    func transactions() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        let writer = WriterThread()
        for number in UInt8.min..<100 {
            writer.perform {
                do {
                    try environment.write { try $0.put(table, [number], [number]) }
                } catch {
                    Issue.record(error)
                }
            }
        }
        writer.stop()
        #expect(try environment.read { try $0.view.statistics(table).entries } == 100)
        try environment.expectIntact()
    }
}
