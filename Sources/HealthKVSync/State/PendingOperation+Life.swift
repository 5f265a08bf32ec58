import HealthKV

// The life of an operation in the queue of a peer: every change that the engine makes to one. `docs/SYNC.md` has the
// diagram.
extension PendingOperation {
    /// Marks the operation as sent under a number: the peer may have received it from now on.
    mutating func send(as number: Int64) {
        isSent = true
        version = number
    }

    /// Parks the operation until its access changes, however much time passes.
    mutating func waitForAccess(to type: SampleType) {
        (state, reason, accessType) = (.parked, ParkReason.unauthorized.rawValue, type)
        nextTry = .distantFuture
    }

    /// Notes that the peer refused the operation permanently.
    mutating func quarantine(_ reason: String) { (state, self.reason) = (.quarantined, reason) }

    /// Notes that the peer tried nothing, because of a state that ends by itself or through the user.
    mutating func park(_ reason: ParkReason, of type: SampleType, until time: Instant) {
        (state, self.reason, nextTry) = (.parked, reason.rawValue, time)
        if reason == .unauthorized { accessType = type }
    }

    /// Notes that the peer was busy and named a time.
    mutating func comeAgain(at time: Instant) { (reason, nextTry) = (PushOutcome.busyReason, time) }

    /// Notes a failed attempt. After the last quick attempt (the third by default) the operation is parked, and retried
    /// slowly for as long as it takes (SEMANTICS C13).
    mutating func fail(_ reason: String, at now: Instant, _ options: SyncOptions) {
        attempts += 1
        self.reason = reason
        state = attempts >= options.quickAttempts ? .parked : .waiting
        nextTry = now + options.delay(afterFailures: attempts)
    }

    /// Lets a parked operation be tried again immediately, because what it waited for has come.
    mutating func wake() { (state, nextTry) = (.waiting, .distantPast) }

    /// Lets an operation be tried again as if it were new, because the app asks for it.
    mutating func retry() {
        wake()
        attempts = 0
    }
}
