/// Does two pieces of work at the same time, and returns what both give. If the second one throws, the first one is
/// cancelled. When this returns, neither is under way.
///
/// It takes the place of `async let`, whose task the runtimes up to Swift 6.3 may read after they freed it
/// (docs/decisions/0056).
func together<First: Sendable, Second: Sendable>(
    _ first: @escaping @Sendable () async -> First, and second: @Sendable () async throws -> Second
) async throws -> (First, Second) {
    let task = Task { await first() }
    return try await withTaskCancellationHandler {
        do {
            let result = try await second()
            return (await task.value, result)
        } catch {
            task.cancel()
            _ = await task.value
            throw error
        }
    } onCancel: {
        task.cancel()
    }
}
