#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A lock with a condition variable. `Synchronization.Mutex` has no condition, and on Linux the thread sanitizer does
/// not see that a contended mutex orders accesses, whereas it supports pthread locks.
@safe
public final class Monitor<State>: @unchecked Sendable {
    // @unchecked Sendable and unsafe: the state is accessed only under the lock, and it and both C objects live as long
    // as this. As a property, each access to it would be checked again, which is a fifth of what a read costs to begin.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    @usableFromInline let state: UnsafeMutablePointer<State>

    public init(_ state: sending State) {
        unsafe self.state = .allocate(capacity: 1)
        unsafe self.state.initialize(to: state)
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe condition.initialize(to: pthread_cond_t())
        unsafe pthread_mutex_init(mutex, nil)
        #if canImport(Darwin)
            unsafe pthread_cond_init(condition, nil)
        #else
            // A change of the wall clock must neither shorten nor prolong a wait.
            var attributes = pthread_condattr_t()
            unsafe pthread_condattr_init(&attributes)
            unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            unsafe pthread_cond_init(condition, &attributes)
            unsafe pthread_condattr_destroy(&attributes)
        #endif
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Runs `body` under the lock.
    @inlinable
    public func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return unsafe try body(&state.pointee)
    }

    /// Runs `body` under the lock; returns `nil` if the lock is held.
    @inlinable
    public func withLockIfFree<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard unsafe pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { unsafe pthread_mutex_unlock(mutex) }
        return unsafe try body(&state.pointee)
    }

    /// Changes the state and wakes all waiters.
    public func update<Result>(_ body: (inout State) -> Result) -> Result {
        withLock { state in
            defer { unsafe pthread_cond_broadcast(condition) }
            return body(&state)
        }
    }

    /// Waits until the state is ready.
    public func wait(until isReady: (State) -> Bool) {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while unsafe !isReady(state.pointee) {
            unsafe pthread_cond_wait(condition, mutex)
        }
    }

    /// Waits for at most `period`, changes the state in either case, and wakes all waiters.
    public func wait<Result>(
        atMost period: Duration, until isReady: (State) -> Bool, then body: (inout State) -> Result
    ) -> Result {
        let deadline = ContinuousClock.now + period
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(condition)
            unsafe pthread_mutex_unlock(mutex)
        }
        while unsafe !isReady(state.pointee) {
            let rest = ContinuousClock.now.duration(to: deadline)
            guard rest > .zero else { break }
            wait(atMost: rest)
        }
        return unsafe body(&state.pointee)
    }

    private func wait(atMost period: Duration) {
        // Who waits for longer asks again.
        let (seconds, attoseconds) = min(period, .seconds(86_400)).components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        #if canImport(Darwin)
            unsafe pthread_cond_timedwait_relative_np(condition, mutex, &time)
        #else
            var now = timespec()
            unsafe clock_gettime(CLOCK_MONOTONIC, &now)
            time.tv_sec += now.tv_sec
            time.tv_nsec += now.tv_nsec
            if time.tv_nsec >= 1_000_000_000 {
                time.tv_sec += 1
                time.tv_nsec -= 1_000_000_000
            }
            unsafe pthread_cond_timedwait(condition, mutex, &time)
        #endif
    }
}
