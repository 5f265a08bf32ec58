import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Detects that the current process is a forked child of the process that created this value. It takes no lock, because
/// a thread that does not exist in the child may hold it.
public struct ForkMark: Sendable {
    private let generation = ForkWatch.generation

    public init() {}

    public var isForked: Bool { generation != ForkWatch.generation }
}

/// Counts the forks between the first process that used it and the current process. A child shares the map and the
/// reader slots of its parent but none of its locks, so it must neither use nor close resources that the parent opened.
/// Comparing process ids at each transaction would cost a system call; the count is one load.
enum ForkWatch {
    private static let count = Atomic<Int>(0)

    private static let registered: Int32 = {
        _ = count.load(ordering: .relaxed)
        _ = unsafe slots
        // The handler is a plain function that only uses atomics and closes files, which is allowed after a fork.
        return pthread_atfork(nil, nil) { ForkWatch.noteFork() }
    }()

    /// The current generation: equal in all threads of a process, greater in a child.
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

    /// The descriptors that a child must not keep. The number is fixed, because nothing may be allocated after a fork.
    nonisolated(unsafe) private static let slots: UnsafeMutablePointer<Atomic<Int32>> = {
        // unsafe: allocated once for the life of the process; the pointer never changes, and the slots are atomic.
        let slots = UnsafeMutablePointer<Atomic<Int32>>.allocate(capacity: slotCount)
        for slot in 0..<slotCount { unsafe (slots + slot).initialize(to: Atomic(none)) }
        return unsafe slots
    }()

    /// Closes a descriptor in each child that is forked without an exec. Descriptors beyond 256 stay open.
    static func closeInChild(_ descriptor: Int32) {
        for slot in 0..<slotCount {
            let (isSet, _) = unsafe slots[slot].compareExchange(expected: none, desired: descriptor, ordering: .relaxed)
            if isSet { return }
        }
    }

    /// Removes a descriptor from this list before it is closed.
    static func keepInChild(_ descriptor: Int32) {
        for slot in 0..<slotCount {
            let (isFound, _) = unsafe slots[slot].compareExchange(
                expected: descriptor, desired: none, ordering: .relaxed)
            if isFound { return }
        }
    }
}
