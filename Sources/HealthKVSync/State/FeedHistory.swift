import HealthKV

/// How much of a peer's history of one type is imported, and how much of that was brought ahead of the feed.
struct FeedHistory: Codable, Sendable, Equatable {
    /// What is left out of the import.
    enum Bound: Codable, Sendable, Equatable {
        /// Nothing.
        case none
        /// Samples that start before a time.
        case from(Instant)
        /// Samples that the peer held at a time (SEMANTICS C9).
        case skipped(at: Instant, baseline: Baseline)

        /// Samples that start before this are not imported.
        var horizon: Instant? { if case .from(let time) = self { time } else { nil } }

        /// When the import of the existing history was skipped; `nil` if it was not.
        var skipped: Instant? { if case .skipped(let time, _) = self { time } else { nil } }

        /// Returns the bound of the same kind that leaves out less.
        func widened(to other: Bound) -> Bound {
            switch (self, other) {
            case (.from(let time), .from(let earlier)): .from(min(time, earlier))
            case (.skipped(let time, let baseline), .skipped(let earlier, _)):
                .skipped(at: min(time, earlier), baseline: baseline)
            default: self
            }
        }
    }

    /// Where the place in a feed is, compared with the samples that a skipped import leaves out.
    enum Baseline: String, Codable, Sendable {
        /// The feed may still show them, and only their dates tell them apart. It has shown no sample of another app
        /// since it was begun: perhaps none may be read, and the feed is read past nothing.
        case ahead
        /// As before, but the feed has shown samples of other apps.
        case passing
        /// The feed has passed them. Everything after the place is new, whatever its date.
        case passed
    }

    /// The horizon that applies, and why.
    struct Choice: Codable, Sendable, Equatable {
        /// The plan's horizon at the time of the choice.
        var planned: TypePlan.Horizon
        /// The horizon that was requested instead of the plan's; `nil` if none was.
        var requested: TypePlan.Horizon?
        /// The clock's time of the choice if the choice depends on it, to choose again if the clock was wrong.
        var time: Instant?
    }

    /// `nil` until a plan that imports the type was stored.
    var choice: Choice?
    var bound = Bound.none
    /// How far back the first import has come; it imports the newest windows first.
    var windowsDone: Instant?
    /// Whether samples that were imported by windows have their place in the order of the feed.
    var isInOrder = false

    /// Samples that start before this are not imported.
    var horizon: Instant? { bound.horizon }

    /// When the import of the existing history was skipped; `nil` if it was not.
    var skipped: Instant? { bound.skipped }

    /// Returns `true` if the import takes a sample of this start, as far as dates tell.
    func takes(start: Instant) -> Bool {
        start >= horizon ?? .distantPast && start >= skipped ?? .distantPast
    }

    /// Whether the feed has passed the samples that a skipped import leaves out.
    var isPastBaseline: Bool { if case .skipped(_, .passed) = bound { true } else { false } }

    /// Notes that the next page begins at the beginning.
    mutating func noteBeginning() { setBaseline(.ahead) }

    /// Notes that the feed has shown samples of other apps.
    mutating func noteShown() {
        if case .skipped(_, .ahead) = bound { setBaseline(.passing) }
    }

    /// Notes that the feed was read to its end.
    mutating func noteEnd() {
        if case .skipped(_, .passing) = bound { setBaseline(.passed) }
    }

    private mutating func setBaseline(_ baseline: Baseline) {
        if case .skipped(let time, _) = bound { bound = .skipped(at: time, baseline: baseline) }
    }

    /// Sets another bound. Windows are imported again.
    mutating func replaceBound(_ bound: Bound) { self = FeedHistory(choice: choice, bound: bound) }

    /// Returns `true` if the horizon was chosen by a wrong clock. With a clock that was ahead, nothing would be
    /// imported until that time comes; with a clock that was never set, nothing would ever be imported.
    func isDoubtful(at now: Instant) -> Bool {
        guard let time = choice?.time else { return false }
        return time.isAhead(of: now) || time < .earliestBelievable && now >= .earliestBelievable
    }
}

extension TypePlan.Horizon {
    /// Whether the number of days is not below zero.
    var isValid: Bool {
        if case .days(let count) = self { count >= 0 } else { true }
    }

    /// Returns what an import with this horizon leaves out if it is chosen now.
    func bound(_ now: Instant) -> FeedHistory.Bound {
        // With a clock that was never set, nothing is known of the last days, or of what is new: the import waits for a
        // correct clock.
        let isBelievable = now >= .earliestBelievable
        return switch self {
        case .all: .none
        case .days(let count): .from(isBelievable ? now - .days(count) : .distantFuture)
        // A skipped import leaves samples out by their place in the feed, not by date.
        case .fromNowOn, .ask: .skipped(at: isBelievable ? now : .distantFuture, baseline: .ahead)
        }
    }
}
