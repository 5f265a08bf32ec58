#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV

/// The engine's source of time: the real clock, or a test's own.
public struct SyncClock: Sendable {
    /// Returns the current time.
    public var now: @Sendable () -> Instant
    /// Returns at a time or later; throws if the task is cancelled.
    public var sleep: @Sendable (Instant) async throws -> Void

    /// Creates a clock.
    public init(now: @escaping @Sendable () -> Instant, sleep: @escaping @Sendable (Instant) async throws -> Void) {
        self.now = now
        self.sleep = sleep
    }

    /// The system's clock.
    public static let system = SyncClock(
        now: SystemClock.now,
        sleep: { time in
            let left = time.nanoseconds - SystemClock.now().nanoseconds
            if left > 0 { try await Task.sleep(for: .nanoseconds(left)) }
        })
}

/// The options of an engine. Every field has a usable default.
public struct SyncOptions: Sendable {
    /// The clock.
    public var clock = SyncClock.system
    /// A random number from 0 to 1, for the jitter of retries.
    public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// The maximum number of samples in a page of a pull. Each page is a commit of its own.
    public var pageSize = 4_000
    /// The maximum number of operations in one push.
    public var pushSize = 200
    /// The number of quick attempts, including the first. When the last one has failed, an operation is parked and
    /// retried slowly (SEMANTICS C13).
    public var quickAttempts = 3
    /// The delay between the first two quick attempts; each later delay is twice the one before.
    public var firstDelay: Duration = .seconds(2)
    /// The delay of slow retries.
    public var slowDelay: Duration = .seconds(3_600)
    /// How long a call of a peer may take. A longer call is abandoned: its answer is ignored if it ever arrives.
    public var callDeadline: Duration = .seconds(60)
    /// How long the user may take to grant access.
    public var authorizationDeadline: Duration = .seconds(900)
    /// How long a lease lasts without renewal.
    public var leaseTime: Duration = .seconds(60)
    /// The name of the engine among those that share the store; `nil` gives each engine a unique name. Only one engine
    /// at a time may use a given name: it takes over a lease under that name immediately.
    public var holder: String?
    /// The time zone of the daily totals: the user's current time zone, wherever the user travels, unless the app sets
    /// one.
    public var zone: String {
        get { fixedZone ?? TimeZone.autoupdatingCurrent.identifier }
        set { fixedZone = newValue }
    }
    private var fixedZone: String?
    /// The interval in days at which the whole feed is read again, because read access may have grown unnoticed
    /// (SEMANTICS C23).
    public var rescanDays = 30
    /// After how many days of silence a peer is retired (SEMANTICS C27).
    public var retirementDays = 180

    /// Receives log entries about the engine's work, for the app's log; `nil` for no log. It is called from any thread,
    /// and should return quickly.
    public var log: (@Sendable (SyncLogEntry) -> Void)?

    /// Creates the default options.
    public init() {}

    /// The maximum number of samples in a page that a caller waits for, or that is compared with the store sample by
    /// sample.
    var shortPage: Int { min(pageSize, 2_000) }
    /// Called between steps that a crash may separate. Tests end the process there.
    package var atStep: @Sendable (SyncStep) throws -> Void = { _ in }
    /// Whether to probe the latest samples of feeds occasionally. Probing repairs faults that harnesses plant.
    package var probesLatest = true
    /// The maximum number of pages of a comparison in one pass (SEMANTICS C26).
    package var checkPages = 8
    /// The maximum number of missing samples that a comparison remembers.
    package var missingLimit = 4_000
    /// How many deletions that wait for the end of a feed are stored and applied together.
    package var deferredBlock = 1_000
    /// How long a push continues an unfinished mass deletion before it proceeds without the rest of it.
    package var upkeepBudget: Duration = .seconds(5)
    /// The clock of deadlines; `nil` for ``clock``.
    package var callClock: SyncClock?
    /// How long, in real time, a cancelled or overdue call may still take to return: after a device has slept, the
    /// answer arrives together with the deadline.
    package var callGrace: Duration = .milliseconds(500)
}

extension SyncOptions {
    /// Ends the process if a size, a number of attempts or a time makes no sense.
    func check() {
        for (number, name) in [(pageSize, "pageSize"), (pushSize, "pushSize"), (quickAttempts, "quickAttempts")] {
            Misuse.refuse(unless: number > 0, "the option \(name) is at least 1")
        }
        for (number, name) in [(rescanDays, "rescanDays"), (retirementDays, "retirementDays")] {
            Misuse.refuse(unless: number >= 0, "the option \(name) is not below zero")
        }
        Misuse.refuse(
            unless: fixedZone.map { TimeZone(identifier: $0) != nil } ?? true,
            "the option zone is the name of a time zone, such as Europe/Berlin")
        let times = [
            (firstDelay, "firstDelay"), (slowDelay, "slowDelay"), (callDeadline, "callDeadline"),
            (authorizationDeadline, "authorizationDeadline"), (leaseTime, "leaseTime"),
        ]
        for (time, name) in times { Misuse.refuse(unless: time >= .zero, "the option \(name) is not below zero") }
    }
}

/// Steps between which a crash may happen.
package enum SyncStep: String, Sendable, CaseIterable {
    case pagePulled, pageCommitted, pushCollected, pushMarked, pushSent, outcomesCommitted
}

extension Duration {
    /// Returns a duration of days. Accepts any count, because a plan may ask for any number of days.
    static func days(_ count: Int) -> Duration {
        let (seconds, isTooMany) = count.multipliedReportingOverflow(by: 86_400)
        return .seconds(isTooMany ? (count < 0 ? Int.min + 1 : .max) : seconds)
    }
}
