import HealthKVSync
import Synchronization

/// What a running engine saves to its HealthKit, and up to when it knew of deletions there. A save that a deletion
/// crosses brings the sample back, and HealthKit reports the same as for a later save (decision 0029, "Given up").
final class CrossedSaves: Sendable {
    private struct Save {
        let id: SampleID
        /// When the engine last asked for the changes of the sample's type, and got them.
        let asked: ContinuousClock.Instant?
        /// When the call returned. One that was abandoned may return long after the engine has gone on.
        var ended: ContinuousClock.Instant?
    }

    private struct State {
        var asked: [SampleType: ContinuousClock.Instant] = [:]
        var saves: [Save] = []
    }

    private let state = Mutex(State())

    /// Performs a call for the changes of a type.
    func asking<Answer: Sendable>(
        _ type: SampleType, _ call: () async throws(PeerError) -> Answer
    ) async throws(PeerError) -> Answer {
        let began = ContinuousClock.now
        let answer = try await call()
        state.withLock { $0.asked[type] = max($0.asked[type] ?? began, began) }
        return answer
    }

    /// Performs a call that sends operations.
    func sending<Answer: Sendable>(_ operations: [PushOperation], _ call: () async -> Answer) async -> Answer {
        let sent = state.withLock { state in
            let first = state.saves.count
            for operation in operations {
                guard case .save(let sample) = operation.kind else { continue }
                state.saves.append(Save(id: sample.id, asked: state.asked[sample.type]))
            }
            return first..<state.saves.count
        }
        let answer = await call()
        let now = ContinuousClock.now
        state.withLock { state in for index in sent { state.saves[index].ended = now } }
        return answer
    }

    /// The process ended: what it got last, it may not have stored.
    func restart() { state.withLock { $0.asked = [:] } }

    /// Returns `true` if a save of a sample may have reached HealthKit after a deletion that the engine could not know
    /// when it sent it.
    ///
    /// - Parameter told: when HealthKit could tell the engine; `nil` if it never could.
    func crosses(
        _ id: SampleID, deleted: ContinuousClock.Instant, told: ContinuousClock.Instant?
    ) -> Bool {
        state.withLock { state in
            state.saves.contains { save in
                guard save.id == id, save.ended.map({ $0 > deleted }) ?? true else { return false }
                guard let told, let asked = save.asked else { return true }
                return asked < told
            }
        }
    }
}

/// A deletion in the Health app, in a run of engines that run by themselves.
struct HealthDeletion {
    let id: SampleID
    /// The device whose user deleted the sample.
    let site: Int
    /// When the call began that deleted it, and when it had ended.
    let began: ContinuousClock.Instant
    let ended: ContinuousClock.Instant
    /// When a cloud had brought the deletion to all other devices.
    var delivered: ContinuousClock.Instant?
}

extension World {
    /// Marks the samples that a save may have brought back, because it crossed a deletion in Health.
    func forgetCrossed() {
        for deletion in healthDeletions where ledger.entries[deletion.id]?.isUnknowable == false {
            let isCrossed = sites.contains { site in
                let told = site.number == deletion.site ? deletion.ended : deletion.delivered
                return site.crossed.crosses(deletion.id, deleted: deletion.began, told: told)
            }
            guard isCrossed else { continue }
            ledger.markUnknowable(deletion.id)
            count("deletion that a save crossed")
        }
        healthDeletions = []
    }
}
