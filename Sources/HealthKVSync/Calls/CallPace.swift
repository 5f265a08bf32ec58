/// How much one call may carry: what does not fit into the time of a call would be repeated for ever otherwise. After a
/// call that took too long the next ones carry half of it, and after enough calls in time twice as much again.
///
/// An engine keeps this in memory only, and begins with everything.
struct CallPace: Sendable {
    private var most = Int.max
    /// How many calls in a row carried about as much as they may, in time.
    private var calls = 0
    /// How many such calls show that a call may carry more. Grows with each call that took too long, so that few do.
    private var patience = CallPace.shortestPatience

    /// Returns how much the next call carries.
    func amount(of wanted: Int) -> Int { min(wanted, most) }

    /// Notes that a call which carried an amount has returned in time. Parts end at groups, and pages where the feed
    /// ends, so half of the amount counts as all of it.
    mutating func note(inTime amount: Int) {
        guard most < .max, amount > most / 2 else { return }
        calls += 1
        guard calls >= patience else { return }
        (most, calls) = (most > CallPace.unbounded / 2 ? .max : most * 2, 0)
        patience = max(CallPace.shortestPatience, patience / 2)
    }

    /// Notes that a call which carried an amount took too long. If it carried one thing, it was not too much.
    mutating func note(late amount: Int) {
        guard amount > 1 else { return }
        (most, calls, patience) = (max(1, min(most, amount) / 2), 0, min(patience * 2, CallPace.longestPatience))
    }

    /// No call carries more than this.
    private static let unbounded = 1 << 20
    private static let shortestPatience = 4
    private static let longestPatience = 64
}
