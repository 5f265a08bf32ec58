/// A point in time: nanoseconds since 2001-01-01 00:00:00 UTC, the reference date of Apple's platforms.
///
/// The range is 1710 to 2290. A value outside it is an error and is never clamped: see
/// ``init(secondsSinceReference:)``.
///
/// ```swift
/// let noon = Instant(nanoseconds: 43_200_000_000_000)
/// let later = noon + .seconds(90)
/// assert(later > noon && later - noon == .seconds(90))
/// ```
public struct Instant: Hashable, Sendable, InstantProtocol {
    /// Nanoseconds since the reference date; negative before it.
    public var nanoseconds: Int64

    /// The number of nanoseconds in a second.
    public static let nanosecondsPerSecond: Int64 = 1_000_000_000

    /// Seconds from 1970-01-01 to 2001-01-01, both UTC.
    public static let secondsFrom1970To2001: Int64 = 978_307_200

    /// The earliest instant. As a bound of a query it means "from the beginning".
    public static let distantPast = Instant(nanoseconds: .min)

    /// The latest instant. As the end of a sample it means "not known yet", as a bound of a query "forever".
    public static let distantFuture = Instant(nanoseconds: .max)

    /// The earliest instant that a sample may have: 1710-01-01.
    public static let earliest = Instant(nanoseconds: -9_183_110_400_000_000_000)

    /// The first instant that is too late for a sample: 2290-01-01.
    public static let latest = Instant(nanoseconds: 9_119_952_000_000_000_000)

    /// Creates an instant from nanoseconds since 2001. Samples accept only instants from 1710 to 2290.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Creates an instant from seconds since 2001, rounded to the nearest nanosecond.
    ///
    /// - Throws: ``ModelError/instantOutOfRange`` outside 1710 to 2290 or when `seconds` is not finite.
    public init(secondsSinceReference seconds: Double) throws(ModelError) {
        // Both parts are exact. The product of the unsplit number would be rounded twice: first to 128 ns at today's
        // dates.
        let whole = seconds.rounded(.towardZero)
        let (earliest, latest) = (Instant.earliest.nanoseconds, Instant.latest.nanoseconds)
        guard whole >= Double(earliest / Instant.nanosecondsPerSecond),
            whole < Double(latest / Instant.nanosecondsPerSecond)
        else { throw .instantOutOfRange }
        let part = Int64(((seconds - whole) * 1e9).rounded())
        self.init(nanoseconds: Int64(whole) * Instant.nanosecondsPerSecond + part)
        guard isRepresentable else { throw .instantOutOfRange }
    }

    /// Seconds since 2001 as a floating-point number, exact to about 100 ns at today's dates. An instant created from
    /// such a number returns the same number, except for a few months around 2001, where such numbers are finer than
    /// nanoseconds.
    public var secondsSinceReference: Double {
        let (whole, part) = nanoseconds.quotientAndRemainder(dividingBy: Instant.nanosecondsPerSecond)
        return Double(whole) + Double(part) / 1e9
    }

    /// Whether a sample may start or end here.
    public var isRepresentable: Bool { self >= .earliest && self < .latest }

    public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Returns the instant a duration later, in whole nanoseconds; saturates at the distant future and past.
    public func advanced(by duration: Duration) -> Instant {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: Instant.nanosecondsPerSecond)
        if overflow { return seconds < 0 ? .distantPast : .distantFuture }
        return self + whole + attoseconds / Instant.nanosecondsPerSecond
    }

    /// Returns the time from here to another instant.
    public func duration(to other: Instant) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    /// Returns the instant a duration later; see ``advanced(by:)``.
    public static func + (left: Instant, duration: Duration) -> Instant { left.advanced(by: duration) }

    /// Returns the instant a duration earlier; see ``advanced(by:)``.
    public static func - (left: Instant, duration: Duration) -> Instant { left.advanced(by: .zero - duration) }

    /// Returns the time from the right instant to the left one.
    public static func - (left: Instant, right: Instant) -> Duration { right.duration(to: left) }

    /// Moves an instant by a duration; see ``advanced(by:)``.
    public static func += (instant: inout Instant, duration: Duration) { instant = instant + duration }

    /// Moves an instant back by a duration; see ``advanced(by:)``.
    public static func -= (instant: inout Instant, duration: Duration) { instant = instant - duration }

    /// Returns the instant `nanoseconds` later; saturates at the distant future and past.
    package static func + (left: Instant, nanoseconds: Int64) -> Instant {
        let (sum, overflow) = left.nanoseconds.addingReportingOverflow(nanoseconds)
        if overflow { return nanoseconds < 0 ? .distantPast : .distantFuture }
        return Instant(nanoseconds: sum)
    }

    /// Returns the instant `nanoseconds` earlier; saturates at the distant past and future.
    package static func - (left: Instant, nanoseconds: Int64) -> Instant {
        let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(nanoseconds)
        if overflow { return nanoseconds < 0 ? .distantFuture : .distantPast }
        return Instant(nanoseconds: difference)
    }
}
