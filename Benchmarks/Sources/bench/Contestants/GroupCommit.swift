import Foundation
import HealthKV
import Synchronization

/// 64 threads pass their samples to one writer, which commits all waiting samples in one transaction: the best that a
/// store with a single writer can do for many.
enum GroupCommit {
    private struct Queue {
        var next = 0
        var waiting: [(sample: Sample, isDurable: DispatchSemaphore)] = []
        var hasEnded = false
    }

    /// Writes all samples, each durable before its thread continues. The calling thread is the writer.
    static func run(_ samples: [Sample], _ commit: ([Sample]) throws -> Void) throws {
        let queue = Box(Mutex(Queue()))
        let hasArrived = DispatchSemaphore(value: 0)
        let threads = DispatchGroup()
        for _ in 0..<Writers.count {
            threads.enter()
            Thread.detachNewThread {
                let isDurable = DispatchSemaphore(value: 0)
                while enqueueNext(of: samples, queue, isDurable) {
                    hasArrived.signal()
                    isDurable.wait()
                }
                threads.leave()
            }
        }
        var done = 0
        let outcome = Result {
            while done < samples.count {
                hasArrived.wait()
                let group = queue.value.withLock { queue in
                    defer { queue.waiting = [] }
                    return queue.waiting
                }
                // An earlier group may have included the sample of this signal.
                if group.isEmpty { continue }
                try commit(group.map(\.sample))
                done += group.count
                for entry in group { entry.isDurable.signal() }
            }
        }
        // After a failure, no thread may wait for a commit that never comes.
        queue.value.withLock { queue in
            queue.hasEnded = true
            for entry in queue.waiting { entry.isDurable.signal() }
        }
        if case .success = outcome { threads.wait() }
        try outcome.get()
    }

    /// Adds the next sample to the queue; returns `false` if none is left.
    private static func enqueueNext(
        of samples: [Sample], _ queue: Box<Mutex<Queue>>, _ isDurable: DispatchSemaphore
    ) -> Bool {
        queue.value.withLock { queue in
            guard !queue.hasEnded, queue.next < samples.count else { return false }
            queue.waiting.append((samples[queue.next], isDurable))
            queue.next += 1
            return true
        }
    }
}
