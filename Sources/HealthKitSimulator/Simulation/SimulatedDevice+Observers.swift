import Foundation

extension SimulatedDevice {
    func execute(_ query: HKObserverQuery, of app: SimulatedApp) {
        let failure = state.withLock { state in
            let failure = state.begin(.observe)
            if failure == nil {
                state.observers.execute(query, of: app, fires: state.database.options.observerFiresAtStart)
            }
            return failure
        }
        // A query that fails receives its error and nothing more; one that hangs receives nothing.
        if let failure, !(failure.error is HungCall) { query.handler(query, nil, {}, failure.error) }
        deliver()
    }

    func stop(_ query: HKObserverQuery) { state.withLock { $0.observers.stop(query) } }
    func forgetQueries(of app: SimulatedApp) { state.withLock { $0.observers.stopAll(of: app) } }

    func enableDelivery(_ type: HKObjectType, _ frequency: HKUpdateFrequency?, of app: SimulatedApp) throws {
        try perform(.enableDelivery) { state in
            if type is HKCorrelationType {
                throw HKError(.errorInvalidArgument, "\(type) has no background delivery")
            }
            state.observers.enable(type.identifier, of: app.bundle, frequency: frequency)
        }
    }

    /// Makes the calls that are due, outside the lock, and schedules the next delivery.
    func deliver() {
        let now = clock.now
        let (calls, next, delay, repeats) = state.withLock { state in
            let due = state.observers.due(at: now)
            let dropped = min(state.observers.toDrop, due.calls.count)
            state.observers.toDrop -= dropped
            return (Array(due.calls.dropFirst(dropped)), due.next, state.observers.delay, state.observers.repeats)
        }
        if let next { clock.schedule(at: next) { [weak self] in self?.deliver() } }
        for call in calls {
            if delay > 0 {
                clock.schedule(at: now.addingTimeInterval(delay)) { [weak self] in self?.make(call) }
            } else {
                for _ in 0..<repeats { make(call) }
            }
        }
    }

    private func make(_ call: ObserverBook.Call) {
        if call.isBackground {
            clock.schedule(at: clock.now.addingTimeInterval(ObserverBook.deadline)) { [weak self] in
                guard let self else { return }
                state.withLock { $0.observers.missDeadline(call.number, at: self.clock.now) }
                deliver()
            }
        }
        let query = call.observation.query
        query.handler(query, call.types, { [weak self] in self?.complete(call.number) }, nil)
    }

    private func complete(_ number: Int) {
        state.withLock { $0.observers.complete(number) }
        deliver()
    }

    /// Drops the next calls of observers.
    public func dropObserverCalls(_ count: Int) { state.withLock { $0.observers.toDrop += count } }

    /// Delays the calls of observers.
    public func delayObserverCalls(by delay: TimeInterval) { state.withLock { $0.observers.delay = delay } }

    /// Makes each call of an observer several times.
    public func repeatObserverCalls(_ times: Int) { state.withLock { $0.observers.repeats = times } }

    /// How many calls of observers were never completed.
    public var uncompletedCalls: Int { state.withLock { $0.observers.calls.count } }

    /// Returns `true` if HealthKit gave up waking an app for a type after three failures.
    public func isWakingStopped(_ app: SimulatedApp, for type: String) -> Bool {
        let type = KnownType.identifier(of: type)
        return state.withLock {
            $0.observers.deliveries[ObserverBook.Key(bundle: app.bundle, type: type)]?.isStopped ?? false
        }
    }
}
