import HealthModel
import LMDB

/// The system's clock as an instant.
public enum SystemClock {
    /// The system's time. It goes backwards if the clock is set back.
    @Sendable public static func now() -> Instant {
        Instant(
            nanoseconds: FileSystem.nanosecondsSince1970
                - Instant.secondsFrom1970To2001 * Instant.nanosecondsPerSecond)
    }
}
