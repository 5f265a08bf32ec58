import Foundation
import Synchronization

/// Runs an asynchronous function to its end while this thread waits.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
    let outcome = Box(Mutex<Swift.Result<Result, any Error>?>(nil))
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        do {
            let result = try await body()
            outcome.value.withLock { $0 = .success(result) }
        } catch {
            outcome.value.withLock { $0 = .failure(error) }
        }
        done.signal()
    }
    done.wait()
    guard let found = outcome.value.withLock({ $0 }) else { throw BenchFailure("a task ended without a result") }
    return try found.get()
}
