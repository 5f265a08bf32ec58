import Synchronization
import Testing

@testable import AppleHealthExport

@Suite("Work that is done while the caller prepares more")
struct WorkInOrderTests {
    private struct Failure: Error {}

    @Test("Pieces are done in order, and all of them before the end")
    func order() throws {
        let work = WorkInOrder(label: "test")
        let done = Mutex<[Int]>([])
        for number in 0..<100 { try work.perform { done.withLock { $0.append(number) } } }
        try work.finish()
        #expect(done.withLock { $0 } == Array(0..<100))
        try work.perform { done.withLock { $0.append(100) } }
        try work.finish()
        #expect(done.withLock { $0.count } == 101)
    }

    @Test("After a piece that failed none is done, and its error is thrown, at the end at the latest")
    func failure() throws {
        let work = WorkInOrder(label: "test")
        let done = Mutex<[Int]>([])
        #expect(throws: Failure.self) {
            for number in 0..<100 {
                try work.perform {
                    if number == 7 { throw Failure() }
                    done.withLock { $0.append(number) }
                }
            }
        }
        #expect(throws: Failure.self) { try work.finish() }
        #expect(done.withLock { $0 } == Array(0..<7))
    }
}
