import HealthKV
import Synchronization

/// The store that reads through a peer, as it introduced itself.
final class StoreReader: Sendable {
    private let last = Mutex<PeerGreeting?>(nil)

    var greeting: PeerGreeting? {
        get { last.withLock { $0 } }
        set { last.withLock { $0 = newValue } }
    }
}
