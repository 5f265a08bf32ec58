import Foundation

/// The observers, their pending news, and how they behaved (A14, A15).
struct ObserverBook: Sendable {
    struct Observation: Sendable {
        let number: Int
        let bundle: String
        weak var app: SimulatedApp?
        let query: HKObserverQuery
    }

    struct Key: Hashable, Sendable {
        let bundle: String
        let type: String
    }

    /// How a type is delivered to an app.
    struct Delivery: Sendable {
        var frequency: HKUpdateFrequency?
        var hasNews = false
        var lastDelivered: Date?
        /// The background call that the app has not completed yet.
        var awaited: Int?
        var failures = 0
        var resumes = Date.distantPast
        var isStopped: Bool { failures >= 3 }
    }

    struct Call: Sendable {
        let number: Int
        let observation: Observation
        let types: Set<HKSampleType>
        let isBackground: Bool
    }

    private(set) var observations: [Observation] = []
    private(set) var deliveries: [Key: Delivery] = [:]
    private(set) var calls: [Int: Call] = [:]
    private var number = 0
    /// How many calls to drop, the delay of the others, and how often each is made.
    var toDrop = 0
    var delay = 0.0
    var repeats = 1
    /// Types that wake an app at most once an hour, whatever it requested.
    static let hourlyAtBest: Set<String> = ["HKQuantityTypeIdentifierStepCount"]
    /// How long a background call may take before it counts as a failure, in seconds.
    static let deadline = 30.0

    mutating func noteNews(of types: Set<String>, at date: Date) {
        for observation in observations {
            for type in observation.query.types where types.contains(type.identifier) {
                deliveries[Key(bundle: observation.bundle, type: type.identifier), default: Delivery()].hasNews = true
            }
        }
        for (key, delivery) in deliveries where delivery.frequency != nil && types.contains(key.type) {
            deliveries[key]?.hasNews = true
        }
    }

    mutating func execute(_ query: HKObserverQuery, of app: SimulatedApp, fires: Bool) {
        number += 1
        observations.append(Observation(number: number, bundle: app.bundle, app: app, query: query))
        for type in query.types where fires {
            deliveries[Key(bundle: app.bundle, type: type.identifier), default: Delivery()].hasNews = true
        }
    }

    mutating func stop(_ query: HKObserverQuery) { observations.removeAll { $0.query === query } }
    mutating func stopAll(of app: SimulatedApp) { observations.removeAll { $0.app === app } }
    mutating func forgetDeliveries(of bundle: String) { deliveries = deliveries.filter { $0.key.bundle != bundle } }

    mutating func enable(_ type: String, of bundle: String, frequency: HKUpdateFrequency?) {
        let key = Key(bundle: bundle, type: type)
        var delivery = deliveries[key] ?? Delivery()
        delivery.frequency = frequency
        delivery.failures = 0
        delivery.resumes = .distantPast
        deliveries[key] = delivery
    }

    /// Returns the calls that are due, and when to look again.
    mutating func due(at now: Date) -> (calls: [Call], next: Date?) {
        var due: [Call] = []
        var next: Date?
        for observation in observations {
            guard let app = observation.app, app.isRunning else { continue }
            var types = Set<HKSampleType>()
            for type in observation.query.types {
                let key = Key(bundle: observation.bundle, type: type.identifier)
                guard let delivery = deliveries[key], delivery.hasNews else { continue }
                if !app.isForeground {
                    guard let date = delivery.next(key) else { continue }
                    if date > now {
                        next = min(next ?? date, date)
                        continue
                    }
                }
                types.insert(type)
            }
            if !types.isEmpty { due.append(call(observation, types, isBackground: !app.isForeground, at: now)) }
        }
        return (due, next)
    }

    private mutating func call(
        _ observation: Observation, _ types: Set<HKSampleType>, isBackground: Bool, at now: Date
    ) -> Call {
        number += 1
        let call = Call(number: number, observation: observation, types: types, isBackground: isBackground)
        for type in types {
            let key = Key(bundle: observation.bundle, type: type.identifier)
            deliveries[key]?.hasNews = false
            deliveries[key]?.lastDelivered = now
            if call.isBackground { deliveries[key]?.awaited = number }
        }
        calls[number] = call
        return call
    }

    mutating func complete(_ number: Int) {
        guard let call = calls.removeValue(forKey: number) else { return }
        for type in call.types {
            let key = Key(bundle: call.observation.bundle, type: type.identifier)
            guard deliveries[key]?.awaited == number else { continue }
            deliveries[key]?.awaited = nil
            deliveries[key]?.failures = 0
        }
    }

    /// Handles a background call that was not completed in time: HealthKit backs off, and stops after three.
    mutating func missDeadline(_ number: Int, at now: Date) {
        guard let call = calls[number] else { return }
        for type in call.types {
            let key = Key(bundle: call.observation.bundle, type: type.identifier)
            guard var delivery = deliveries[key], delivery.awaited == number else { continue }
            delivery.awaited = nil
            delivery.failures += 1
            delivery.resumes = now.addingTimeInterval(max(delivery.period(key), 60) * pow(2, Double(delivery.failures)))
            deliveries[key] = delivery
        }
    }
}

extension ObserverBook.Delivery {
    func period(_ key: ObserverBook.Key) -> TimeInterval {
        let asked: TimeInterval =
            switch frequency {
            case .hourly: 3_600
            case .daily: 86_400
            case .weekly: 7 * 86_400
            case .immediate, nil: 0
            }
        return ObserverBook.hourlyAtBest.contains(key.type) ? max(asked, 3_600) : asked
    }

    /// Returns when the next background delivery may happen, or `nil` if there is none.
    func next(_ key: ObserverBook.Key) -> Date? {
        guard frequency != nil, !isStopped, awaited == nil else { return nil }
        let since = lastDelivered?.addingTimeInterval(period(key)) ?? .distantPast
        return max(since, resumes)
    }
}
