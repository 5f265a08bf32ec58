import HealthKV
import Synchronization

/// A signal that wakes a session.
enum Signal: Sendable {
    /// The engine was started, or the app changed what may be synced.
    case started
    case commit
    case wake
    case due
}

/// Wake-ups that are not served yet. One signal represents all of them: types are observed one by one, and one pass
/// serves many.
final class WaitingWakes: Sendable {
    private let wakes = Mutex<[WakeUp]>([])

    /// Returns `true` for the first wake-up, which must be signalled.
    func add(_ wake: WakeUp) -> Bool {
        wakes.withLock { wakes in
            wakes.append(wake)
            return wakes.count == 1
        }
    }

    var isEmpty: Bool { wakes.withLock(\.isEmpty) }

    func take() -> [WakeUp] {
        wakes.withLock { wakes in
            defer { wakes = [] }
            return wakes
        }
    }
}
