import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import HealthKV

/// An engine as the holder of leases. No other engine has its name, in this process or another, now or later.
final class LeaseHolder: Sendable {
    let name: String
    let mark: EngineMark

    private static let process = (space: EngineMark.ownSpace, start: SystemClock.now().nanoseconds)
    private static let living = Mutex<(last: UInt64, engines: Set<UInt64>)>((0, []))

    /// Creates the holder of an engine's leases, under the name that the app gives or a generated one.
    init(_ options: SyncOptions) {
        let number = LeaseHolder.living.withLock { living in
            living.last += 1
            living.engines.insert(living.last)
            return living.last
        }
        let (space, start) = LeaseHolder.process
        mark = EngineMark(space: space, process: getpid(), start: start, engine: number)
        let nonce = UInt32(max(0, min(1, options.random())) * 4_294_967_295)
        let program = ProcessInfo.processInfo.processName
        name = options.holder ?? "\(program) \(mark.process).\(start).\(number).\(nonce)"
    }

    deinit { LeaseHolder.living.withLock { _ = $0.engines.remove(mark.engine) } }

    /// Returns `true` if another engine holds a lease. A lease that expires far in the future was written with a wrong
    /// clock, and a holder that is known to be gone need not be waited for: neither counts.
    func isHeldElsewhere(_ lease: Lease, at now: Instant, _ leaseTime: Duration) -> Bool {
        guard lease.holder != name, lease.expires > now, lease.expires <= now + leaseTime + .seconds(86_400) else {
            return false
        }
        return !(lease.mark.map { isGone($0) } ?? false)
    }

    private func isGone(_ other: EngineMark) -> Bool {
        guard other.space == mark.space else { return false }
        if other.process == mark.process {
            let isLiving = LeaseHolder.living.withLock { $0.engines.contains(other.engine) }
            return other.start != mark.start || !isLiving
        }
        // A process that may not be signalled is alive.
        return kill(other.process, 0) != 0 && errno == ESRCH
    }
}
