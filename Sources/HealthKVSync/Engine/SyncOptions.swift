#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV

/// Time, as the engine takes it: real, or a test's own.
public struct SyncClock: Sendable {
    /// What time it is.
    public var now: @Sendable () -> Instant
    /// Returns at a time or later; throws when the task is cancelled.
    public var sleep: @Sendable (Instant) async throws -> Void

    /// A clock.
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

/// What the engine is run with. Every field has a usable default.
public struct SyncOptions: Sendable {
    /// Time.
    public var clock = SyncClock.system
    /// A random number from 0 to 1, for the jitter of retries.
    public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// The most samples that a page of a pull should have. Each page is a commit of its own.
    public var pageSize = 4_000
    /// The most operations of one push.
    public var pushSize = 200
    /// Quick attempts, the first among them; when the last of them failed, an operation is parked and tried slowly (SEMANTICS C13).
    public var quickAttempts = 3
    /// The delay between the first two quick attempts; each is twice the one before.
    public var firstDelay: Duration = .seconds(2)
    /// The delay of slow retries.
    public var slowDelay: Duration = .seconds(3_600)
    /// How long a call of a peer may take. One that takes longer is given up: its answer, should it ever come, is ignored.
    public var callDeadline: Duration = .seconds(60)
    /// How long the user may take to grant access.
    public var authorizationDeadline: Duration = .seconds(900)
    /// How long a lease holds without being renewed.
    public var leaseTime: Duration = .seconds(60)
    /// Names the engine among those that share the store; `nil` gives each a name that no other has. Only one engine at a time may use a name that is
    /// given: it takes the lease of that name at once.
    public var holder: String?
    /// The time zone in whose days totals are kept: the one in which the user is, wherever he goes, unless the app sets one.
    public var zone: String {
        get { fixedZone ?? TimeZone.autoupdatingCurrent.identifier }
        set { fixedZone = newValue }
    }
    private var fixedZone: String?
    /// How often the whole feed is read again, since read access may have grown unseen (SEMANTICS C23).
    public var rescanDays = 30
    /// After how many days of silence a peer is retired (SEMANTICS C27).
    public var retirementDays = 180

    /// Is told what the engine does, for the app's log; `nil` for nobody. It is called from any thread, and should return at once.
    public var log: (@Sendable (SyncLogEntry) -> Void)?

    /// The defaults; change what is to differ.
    public init() {}

    /// The most samples of a page that somebody waits for, or that is compared with what is held, sample by sample.
    var shortPage: Int { min(pageSize, 2_000) }
    /// Called between steps that a crash may separate. Tests end the process there.
    package var atStep: @Sendable (SyncStep) throws -> Void = { _ in }
    /// Whether the latest samples of feeds are looked at now and then. It mends what harnesses plant.
    package var probesLatest = true
    /// The most pages of a comparison that a pass takes (SEMANTICS C26).
    package var checkPages = 8
    /// The most missing samples that a comparison remembers.
    package var missingLimit = 4_000
    /// How many deletions that wait for the end of a feed are kept, and applied, together.
    package var deferredBlock = 1_000
    /// For how long a push carries on a mass deletion before it goes without what that leaves.
    package var upkeepBudget: Duration = .seconds(5)
    /// The clock of deadlines; `nil` for ``clock``.
    package var callClock: SyncClock?
    /// How long, in real time, a call that is cancelled or overdue may still take to return: the answer of a device that
    /// slept meanwhile comes together with the deadline.
    package var callGrace: Duration = .milliseconds(500)
}

extension SyncOptions {
    /// Ends the process where a size, a number of attempts or a time cannot be meant.
    func check() {
        for (number, name) in [(pageSize, "pageSize"), (pushSize, "pushSize"), (quickAttempts, "quickAttempts")] {
            precondition(number > 0, "the option \(name) is at least 1")
        }
        for (number, name) in [(rescanDays, "rescanDays"), (retirementDays, "retirementDays")] {
            precondition(number >= 0, "the option \(name) is not below zero")
        }
        let times = [
            (firstDelay, "firstDelay"), (slowDelay, "slowDelay"), (callDeadline, "callDeadline"),
            (authorizationDeadline, "authorizationDeadline"), (leaseTime, "leaseTime"),
        ]
        for (time, name) in times { precondition(time >= .zero, "the option \(name) is not below zero") }
    }
}

/// Places between which a crash may fall.
package enum SyncStep: String, Sendable, CaseIterable {
    case pagePulled, pageCommitted, pushCollected, pushMarked, pushSent, outcomesCommitted
}

extension Instant {
    static func + (left: Instant, duration: Duration) -> Instant { left + duration.wholeNanoseconds }

    static func - (left: Instant, duration: Duration) -> Instant { left - duration.wholeNanoseconds }
}

extension Duration {
    /// A number of days, of any size: a plan may ask for as many as there are.
    static func days(_ count: Int) -> Duration {
        let (seconds, isTooMany) = count.multipliedReportingOverflow(by: 86_400)
        return .seconds(isTooMany ? (count < 0 ? Int.min + 1 : .max) : seconds)
    }

    /// In nanoseconds; what is longer than they can tell is the longest.
    fileprivate var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: Instant.nanosecondsPerSecond)
        let (sum, isPast) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isTooLong || isPast || sum == .min ? (seconds < 0 ? -.max : .max) : sum
    }
}
