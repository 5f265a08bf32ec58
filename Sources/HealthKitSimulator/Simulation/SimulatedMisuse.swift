import Foundation
import Synchronization

/// What HealthKit punishes by an exception that Swift cannot catch (A26). The process ends, unless a test records it.
public enum SimulatedMisuse {
    @TaskLocal static var recorder: Recorder?

    final class Recorder: Sendable {
        let found = Mutex<[String]>([])
    }

    /// Runs `body` and returns what it misused, in order. Whatever `body` made in spite of it is of no use.
    public static func recording(_ body: () async throws -> Void) async rethrows -> [String] {
        let recorder = Recorder()
        try await $recorder.withValue(recorder) { try await body() }
        return recorder.found.withLock { $0 }
    }

    static func found(_ what: String) {
        guard let recorder else { preconditionFailure("An exception of HealthKit: \(what)") }
        recorder.found.withLock { $0.append(what) }
    }
}
