import Foundation
import Synchronization

/// Misuse that HealthKit punishes with an exception that Swift cannot catch (A26). The process ends, unless a test
/// records the misuse.
public enum SimulatedMisuse {
    @TaskLocal static var recorder: Recorder?

    final class Recorder: Sendable {
        let found = Mutex<[String]>([])
    }

    /// Runs `body` and returns its misuses, in order. Objects that `body` made in spite of a misuse are invalid.
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
