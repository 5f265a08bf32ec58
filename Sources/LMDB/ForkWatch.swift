import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Tells a forked child from the process that made this, without a lock, which a thread that the child lacks may hold.
public struct ForkMark: Sendable {
    private let generation = ForkWatch.generation

    public init() {}

    public var isForked: Bool { generation != ForkWatch.generation }
}

/// Counts the forks between this process and the one that first asked. A child shares the map and the reader slots of
/// its parent but none of its locks, so it must neither use nor close what the parent opened. Asking for the process
/// id at each transaction would cost a system call; the count is one load.
enum ForkWatch {
    private static let count = Atomic<Int>(0)

    private static let registered: Int32 = {
        _ = count.load(ordering: .relaxed)
        _ = unsafe slots
        // The handler is a plain function that only touches atomics and closes files, which is allowed after a fork.
        return pthread_atfork(nil, nil) { ForkWatch.noteFork() }
    }()

    /// The present generation: equal in a process and in its threads, greater in a child.
    static var generation: Int {
        precondition(registered == 0, "no memory to watch for forks")
        return count.load(ordering: .relaxed)
    }

    static func noteFork() {
        count.add(1, ordering: .relaxed)
        for slot in 0..<slotCount {
            let descriptor = unsafe slots[slot].exchange(none, ordering: .relaxed)
            if descriptor != none { close(descriptor) }
        }
    }

    private static let none: Int32 = -1
    private static let slotCount = 256

    /// Descriptors that a child must not keep. Nothing may be allocated after a fork, so there are so many and no more.
    nonisolated(unsafe) private static let slots: UnsafeMutablePointer<Atomic<Int32>> = {
        // unsafe: allocated once, for as long as the process lives; the pointer never changes, and the slots are atomic.
        let slots = UnsafeMutablePointer<Atomic<Int32>>.allocate(capacity: slotCount)
        for slot in 0..<slotCount { unsafe (slots + slot).initialize(to: Atomic(none)) }
        return unsafe slots
    }()

    /// Closes a descriptor in each child that is forked without becoming another program. Beyond 256 of them it stays open.
    static func closeInChild(_ descriptor: Int32) {
        for slot in 0..<slotCount {
            let (isSet, _) = unsafe slots[slot].compareExchange(expected: none, desired: descriptor, ordering: .relaxed)
            if isSet { return }
        }
    }

    /// Takes a descriptor that is about to be closed out again.
    static func keepInChild(_ descriptor: Int32) {
        for slot in 0..<slotCount {
            let (isFound, _) = unsafe slots[slot].compareExchange(
                expected: descriptor, desired: none, ordering: .relaxed)
            if isFound { return }
        }
    }
}
