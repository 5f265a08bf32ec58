import HealthKVSync
import Synchronization

/// Observes types one by one. A failed observer is restarted after a pause, unless the user has not granted access: the
/// app must ask first, and then starts to observe again.
final class TypeObservers: Sendable {
    private struct State {
        var hasEnded = false
        var stops: [SampleType: @Sendable () -> Void] = [:]
        /// How often the observation of a type was begun.
        var begun: [SampleType: Int] = [:]
        /// The number of failures in a row.
        var failures: [SampleType: Int] = [:]
    }

    private let gateway: any HealthGateway
    private let pause: @Sendable (Int) async -> Void
    private let news: @Sendable (SampleType, @escaping @Sendable () -> Void) -> Void
    private let state = Mutex(State())

    init(
        gateway: any HealthGateway, pause: @escaping @Sendable (Int) async -> Void,
        news: @escaping @Sendable (SampleType, _ done: @escaping @Sendable () -> Void) -> Void
    ) {
        self.gateway = gateway
        self.pause = pause
        self.news = news
    }

    func begin(_ type: SampleType) {
        let number = state.withLock { state in
            state.begun[type, default: 0] += 1
            return state.begun[type]
        }
        let stop = gateway.observe(type) { [weak self, news] done in
            self?.state.withLock { $0.failures[type] = nil }
            news(type, done)
        } failed: { [weak self] error in
            self?.fail(type, error)
        }
        // The observation may have ended meanwhile, or have failed and been restarted.
        let late = state.withLock { state in
            if state.hasEnded || state.begun[type] != number { return Optional(stop) }
            return state.stops.updateValue(stop, forKey: type)
        }
        late?()
    }

    /// Stops all observers, and starts no more.
    func end() {
        let stops = state.withLock { state in
            state.hasEnded = true
            defer { state.stops = [:] }
            return Array(state.stops.values)
        }
        for stop in stops { stop() }
    }

    private func fail(_ type: SampleType, _ error: GatewayError) {
        if error == .notDetermined || error == .denied { return }
        let failures = state.withLock { state in
            state.failures[type, default: 0] += 1
            return state.failures[type, default: 1]
        }
        Task { [weak self, pause] in
            await pause(failures)
            guard let self, !state.withLock({ $0.hasEnded }) else { return }
            begin(type)
        }
    }
}
