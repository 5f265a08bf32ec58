import Synchronization

/// A closure that may be called from any thread and any number of times, and runs once.
final class OnlyOnce: Sendable {
    private let closure: Mutex<(@Sendable () -> Void)?>

    init(_ closure: @escaping @Sendable () -> Void) { self.closure = Mutex(closure) }

    func call() {
        let taken = closure.withLock { closure in
            defer { closure = nil }
            return closure
        }
        taken?()
    }
}
