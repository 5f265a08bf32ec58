import Foundation

/// The calls that the simulator counts and can make fail.
public enum SimulatedCall: String, Sendable, Hashable, CaseIterable {
    /// Calls of an app.
    case save, delete, changes, samples, statistics, requestAuthorization, requestStatus, enableDelivery, observe
    /// Writes of watches, phones and other apps.
    case record
}

struct PlannedFailure: Sendable {
    enum Kind: Sendable {
        case error(HKError.Code)
        /// The connection to the system's health service ends.
        case interruption
        /// The call does not return.
        case hang
        /// The call waits before it has its effect.
        case wait
    }

    let call: SimulatedCall
    var number: Int
    let kind: Kind
    let afterEffect: Bool

    var error: any Error {
        switch kind {
        case .error(let code): HKError(code, "A planned failure")
        case .interruption: PlannedFailure.interruption
        case .hang: HungCall()
        case .wait: SlowCall()
        }
    }

    /// Foundation's error for a connection that ended; HealthKit passes it on unchanged.
    static var interruption: NSError { NSError(domain: NSCocoaErrorDomain, code: 4_097) }
}

/// Thrown inside the simulator by a call that must not return.
struct HungCall: Error {}

/// Thrown inside the simulator by a call that goes on when it is released.
struct SlowCall: Error {}

extension SimulatedDevice {
    /// Makes the `number`th call from now on fail, before or after it has its effect.
    public func fail(
        _ call: SimulatedCall, number: Int = 1, code: HKError.Code = .unknownError, afterEffect: Bool = false
    ) {
        plan(PlannedFailure(call: call, number: number, kind: .error(code), afterEffect: afterEffect))
    }

    /// Makes the connection end during the `number`th call from now on, before or after the call has its effect. The
    /// error is not one of HealthKit's.
    public func interrupt(_ call: SimulatedCall, number: Int = 1, afterEffect: Bool = false) {
        plan(PlannedFailure(call: call, number: number, kind: .interruption, afterEffect: afterEffect))
    }

    /// Makes the `number`th call from now on hang until ``releaseHungCalls()``, before or after it has its effect.
    /// Cancelling its task does not end it, as in HealthKit.
    public func hang(_ call: SimulatedCall, number: Int = 1, afterEffect: Bool = false) {
        plan(PlannedFailure(call: call, number: number, kind: .hang, afterEffect: afterEffect))
    }

    /// Makes the `number`th call from now on wait until ``releaseHungCalls()``. Then it has its effect, whatever has
    /// happened meanwhile.
    public func slow(_ call: SimulatedCall, number: Int = 1) {
        plan(PlannedFailure(call: call, number: number, kind: .wait, afterEffect: false))
    }

    private func plan(_ failure: PlannedFailure) { state.withLock { $0.failures.append(failure) } }

    /// How many calls have not returned.
    public var hungCalls: Int { state.withLock { $0.hung.count } }

    /// Makes all hanging calls return, as interrupted, and all slow ones go on.
    public func releaseHungCalls() {
        let hung = state.withLock { state in
            defer { state.hung = [] }
            return state.hung
        }
        for call in hung { call.resume() }
    }

    /// Runs a call that may hang.
    func returning<Answer>(_ body: () throws -> Answer) async throws -> Answer {
        do { return try body() } catch is HungCall {
            await waitForRelease()
            throw PlannedFailure.interruption
        } catch is SlowCall {
            await waitForRelease()
            return try body()
        }
    }

    private func waitForRelease() async {
        await withCheckedContinuation { call in state.withLock { $0.hung.append(call) } }
    }

    /// Cancels all planned failures.
    public func forgetFailures() { state.withLock { $0.failures = [] } }

    /// Returns how often a call was made.
    public func count(of call: SimulatedCall) -> Int { state.withLock { $0.calls[call] ?? 0 } }
}

extension SimulatedDevice.State {
    mutating func begin(_ call: SimulatedCall) -> PlannedFailure? {
        calls[call, default: 0] += 1
        for index in failures.indices where failures[index].call == call { failures[index].number -= 1 }
        let due = failures.first { $0.call == call && $0.number == 0 }
        failures.removeAll { $0.number <= 0 }
        return due
    }
}
