import Foundation
import Synchronization

/// Work for 64 threads.
enum ManyThreads {
    /// Runs `body` for every number below `count` on 64 threads, and throws the first error.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        let next = Box(Atomic<Int>(0))
        let failures = Box(Mutex<(any Error)?>(nil))
        let group = DispatchGroup()
        for _ in 0..<Writers.count {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                while true {
                    let index = next.value.wrappingAdd(1, ordering: .relaxed).oldValue
                    if index >= count { return }
                    do { try body(index) } catch { return failures.value.withLock { $0 = $0 ?? error } }
                }
            }
        }
        group.wait()
        if let error = failures.value.withLock({ $0 }) { throw error }
    }
}

/// Work for 64 tasks.
enum ManyTasks {
    /// Runs `body` for every number below `count` in 64 tasks with equal shares, and throws the first error.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) throws {
        let failure = Box(Mutex<(any Error)?>(nil))
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<Writers.count {
                        group.addTask {
                            for index in stride(from: task, to: count, by: Writers.count) { try await body(index) }
                        }
                    }
                    try await group.waitForAll()
                }
            } catch { failure.value.withLock { $0 = error } }
            done.signal()
        }
        done.wait()
        if let error = failure.value.withLock({ $0 }) { throw error }
    }
}

/// Shares a noncopyable value by reference.
final class Box<Value: ~Copyable & Sendable>: Sendable {
    let value: Value
    init(_ value: consuming Value) { self.value = value }
}

/// A contestant that several threads use at once, as far as it allows.
///
/// Unchecked: each use states that its calls are safe from any thread.
struct Shared<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
