/// How much one call may carry: what does not fit into the time of a call would be repeated for ever otherwise. After a
/// call that took too long the next ones carry half of it, and after enough calls in time twice as much again.
///
/// An engine keeps this in memory only, and begins with everything.
struct CallPace: Sendable {
    private var most = Int.max
    /// How many calls in a row carried as much as they may, in time.
    private var calls = 0
    /// How many such calls show that a call may carry more. Grows with each call that took too long, so that few do.
    private var patience = 4

    /// Returns how much the next call carries.
    func amount(of wanted: Int) -> Int { min(wanted, most) }

    /// Notes that a call which carried an amount has returned in time.
    mutating func note(inTime amount: Int) {
        guard most < .max, amount >= most else { return }
        calls += 1
        guard calls >= patience else { return }
        (most, calls) = (most > CallPace.unbounded / 2 ? .max : most * 2, 0)
    }

    /// Notes that a call which carried an amount took too long.
    mutating func note(late amount: Int) {
        (most, calls, patience) = (max(1, min(most, amount) / 2), 0, min(patience * 2, CallPace.longestPatience))
    }

    /// No call carries more than this.
    private static let unbounded = 1 << 20
    private static let longestPatience = 1 << 10
}

extension CallPace {
    /// Returns `true` if a failed call may have carried too much: it reached its deadline, or something else ended it
    /// after a good part of that time, such as the transport's own deadline.
    static func isLate(_ error: PeerError, after time: Duration, of limit: Duration) -> Bool {
        error.code == .transient && error.retryAfter == nil && time >= limit / 4
    }
}
