import TestSupport

/// Additional events of seeds from 2^41 on, drawn from a separate generator.
extension World {
    /// Plans a fault of a call that is neither a pull nor a push.
    func stepFifth() {
        let site = fifth.pick(sites)
        let faults = seed >= World.firstOfTenth ? WireFault.ofTenth : WireFault.ofCalls
        let (call, fault) = (fifth.pick(WireCall.allCases), fifth.pick(faults))
        site.wire.plan(fault, of: call)
        note("store\(site.number) is to meet \(fault) at \(call)")
    }
}
