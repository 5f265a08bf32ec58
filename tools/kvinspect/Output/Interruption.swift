import Synchronization

/// Ctrl-C: the work looks at this between two steps and stops where nothing is half done.
struct Interruption: Error {
    private static let requested = Atomic<Bool>(false)

    /// Called by the signal handler, which may do nothing but this.
    static func request() { requested.store(true, ordering: .relaxed) }

    static func check() throws {
        if requested.load(ordering: .relaxed) { throw Interruption() }
    }
}
