import Dispatch
import Synchronization

/// Does pieces of work in order, one at a time, while the caller prepares the next one.
package final class WorkInOrder: Sendable {
    private let queue: DispatchQueue
    private let isIdle = DispatchSemaphore(value: 0)
    private let failure = Mutex<(any Error)?>(nil)

    /// - Parameter label: names the thread to debuggers.
    package init(label: String) {
        queue = DispatchQueue(label: label)
        isIdle.signal()
    }

    /// Waits for the piece before this one, and throws its error if it had one.
    package func perform(_ work: @escaping @Sendable () throws -> Void) throws {
        isIdle.wait()
        if let error = failure.withLock({ $0 }) {
            isIdle.signal()
            throw error
        }
        queue.async { [self] in
            do { try work() } catch { failure.withLock { $0 = error } }
            isIdle.signal()
        }
    }

    /// Waits until nothing is under way, and throws the error of the last piece if it had one.
    package func finish() throws {
        isIdle.wait()
        isIdle.signal()
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
