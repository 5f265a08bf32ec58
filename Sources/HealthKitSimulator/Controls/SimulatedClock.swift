import Foundation
import Synchronization

/// Virtual time. Nothing happens by itself: ``advance(by:)`` runs the actions that wait for a time.
public final class SimulatedClock: Sendable {
    private struct State {
        var now: Date
        var waiting: [(date: Date, order: Int, action: @Sendable () -> Void)] = []
        var order = 0
    }

    private let state: Mutex<State>

    /// Creates a clock that shows a date; 2026-01-01 UTC by default.
    public init(_ now: Date = Date(timeIntervalSinceReferenceDate: 788_918_400)) { state = Mutex(State(now: now)) }

    /// The current time.
    public var now: Date { state.withLock { $0.now } }

    /// Advances the time, and runs the actions that are due on the way, in order.
    public func advance(by interval: TimeInterval) {
        let goal = now.addingTimeInterval(interval)
        while let action = next(until: goal) { action() }
        state.withLock { $0.now = max($0.now, goal) }
    }

    private func next(until goal: Date) -> (@Sendable () -> Void)? {
        state.withLock { state in
            let due = state.waiting.enumerated().filter { $0.element.date <= goal }
            guard let first = due.min(by: { ($0.element.date, $0.element.order) < ($1.element.date, $1.element.order) })
            else { return nil }
            state.waiting.remove(at: first.offset)
            state.now = max(state.now, first.element.date)
            return first.element.action
        }
    }

    func schedule(at date: Date, _ action: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.order += 1
            state.waiting.append((date, state.order, action))
        }
    }
}
