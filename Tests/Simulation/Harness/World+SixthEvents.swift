import Foundation
import HealthKV
import TestSupport

/// Additional events of seeds from 2^42 on, drawn from a separate generator.
extension World {
    /// Damages the file of a store in a way that loses nothing, repairs it, and puts the new store in its place. The
    /// other side must neither double anything nor bring anything back, and the queue must empty as before.
    func stepSixth() throws {
        let site = sixth.pick(sites)
        let before = try site.values()
        let waiting = try site.store.read { try $0.pending().count }
        let takesBranches = sixth.chance(percent: 50)
        let report = try site.repairStore { bytes in
            let whole = bytes
            DataPages.zero(&bytes) { takesBranches ? DataPages.isBranch(whole, $0) : $0 < 2 }
        }
        forgetEngines()
        let what = takesBranches ? "branch pages" : "meta pages"
        guard !report.isLossy else { throw Finding("a repair without \(what) of store\(site.number) loses something") }
        guard try site.values() == before, try site.store.read({ try $0.pending().count }) == waiting else {
            throw Finding("a repair without \(what) changes store\(site.number)")
        }
        note("store\(site.number) is repaired without its \(what)")
        count("repair")
    }
}
