import Dispatch
import Synchronization

/// Does pieces of work in order, one at a time, while the caller prepares the next ones.
package final class WorkInOrder: Sendable {
    /// So many pieces may wait or be under way. A second one evens out pieces of different length.
    private static let most = 2

    private let queue: DispatchQueue
    private let places = DispatchSemaphore(value: 0)
    private let failure = Mutex<(any Error)?>(nil)

    /// - Parameter label: names the thread to debuggers.
    package init(label: String) {
        queue = DispatchQueue(label: label)
        for _ in 0..<WorkInOrder.most { places.signal() }
    }

    /// Waits until few pieces are left, and throws the error of one that failed. After a failure no further piece
    /// is done.
    package func perform(_ work: @escaping @Sendable () throws -> Void) throws {
        places.wait()
        do {
            try throwFailure()
        } catch {
            places.signal()
            throw error
        }
        queue.async { [self] in
            if failure.withLock({ $0 == nil }) {
                do { try work() } catch { failure.withLock { $0 = error } }
            }
            places.signal()
        }
    }

    /// Waits until nothing is under way, and throws the error of a piece that failed.
    package func finish() throws {
        for _ in 0..<WorkInOrder.most { places.wait() }
        for _ in 0..<WorkInOrder.most { places.signal() }
        try throwFailure()
    }

    private func throwFailure() throws { if let error = failure.withLock({ $0 }) { throw error } }
}
