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

/// The name of an engine in leases, and whether other engines still live. No other engine has its name, in this process
/// or another, now or later.
final class EngineIdentity: Sendable {
    /// How leases name the engine.
    let owner: Lease.Owner

    private static let process = (space: EngineMark.ownSpace, start: SystemClock.now().nanoseconds)
    private static let living = Mutex<(last: UInt64, engines: Set<UInt64>)>((0, []))

    /// Creates the identity of an engine, under the name that the app gives or a generated one.
    init(_ options: SyncOptions) {
        let number = EngineIdentity.living.withLock { living in
            living.last += 1
            living.engines.insert(living.last)
            return living.last
        }
        let (space, start) = EngineIdentity.process
        let mark = EngineMark(space: space, process: getpid(), start: start, engine: number)
        let nonce = UInt32(max(0, min(1, options.random())) * 4_294_967_295)
        let program = ProcessInfo.processInfo.processName
        owner = Lease.Owner(
            name: options.holder ?? "\(program) \(mark.process).\(start).\(number).\(nonce)", mark: mark)
    }

    deinit { EngineIdentity.living.withLock { _ = $0.engines.remove(owner.mark.engine) } }

    /// Returns the end of a lease that another engine holds, or `nil` if this engine may take the lease. A lease that
    /// expires far in the future was written with a wrong clock, and a holder that is known to be gone need not be
    /// waited for: neither counts.
    func end(ofForeign lease: Lease, at now: Instant, _ leaseTime: Duration) -> Instant? {
        guard case .held(let other, let end) = lease.state, other.name != owner.name, end > now,
            end <= now + leaseTime + .seconds(86_400), !isGone(other.mark)
        else { return nil }
        return end
    }

    private func isGone(_ other: EngineMark) -> Bool {
        let mark = owner.mark
        guard other.space == mark.space else { return false }
        if other.process == mark.process {
            let isLiving = EngineIdentity.living.withLock { $0.engines.contains(other.engine) }
            return other.start != mark.start || !isLiving
        }
        // A process that may not be signalled is alive.
        return kill(other.process, 0) != 0 && errno == ESRCH
    }
}
