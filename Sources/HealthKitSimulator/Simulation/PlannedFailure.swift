import Foundation

/// The calls that can be counted and made to fail.
public enum SimulatedCall: String, Sendable, Hashable, CaseIterable {
    /// What an app calls.
    case save, delete, changes, samples, statistics, requestAuthorization, requestStatus, enableDelivery, observe
    /// What watches, phones and other apps write.
    case record
}

struct PlannedFailure: Sendable {
    let call: SimulatedCall
    var number: Int
    let code: HKError.Code
    let afterEffect: Bool
}

extension SimulatedDevice {
    /// Lets the `number`th call from now on fail, before or after it had its effect.
    public func fail(
        _ call: SimulatedCall, number: Int = 1, code: HKError.Code = .unknownError, afterEffect: Bool = false
    ) {
        state.withLock {
            $0.failures.append(PlannedFailure(call: call, number: number, code: code, afterEffect: afterEffect))
        }
    }

    /// Nothing fails any more.
    public func forgetFailures() { state.withLock { $0.failures = [] } }

    /// How often a call was made.
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
