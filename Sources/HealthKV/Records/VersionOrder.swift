import HealthModel

/// The order of the versions of one sample: by version, and by clock where two stores made the same version. It is the
/// same in every store, so all of them keep the same version in whatever order they meet.
///
/// A deletion has the order of its version and clock, and wins over a sample of the same order. Of two samples of the
/// same order the one with the greater bytes wins (`Saving`).
package struct VersionOrder: Comparable, Hashable, Sendable {
    package let version: Int64
    package let clock: ChangeClock

    package init(_ version: Int64, _ clock: ChangeClock?) { (self.version, self.clock) = (version, clock ?? .unknown) }

    package static func < (left: VersionOrder, right: VersionOrder) -> Bool {
        left.version != right.version ? left.version < right.version : left.clock < right.clock
    }
}

extension Sample {
    /// The place of the sample, or of the edit that lies over it, among the versions of the sample.
    package var order: VersionOrder { VersionOrder(version, modified) }
}

extension Sample.Original {
    var order: VersionOrder { VersionOrder(version, modified) }
}

extension Sample.Reversion {
    var order: VersionOrder { VersionOrder(version, modified) }
}

extension DeletedSample {
    package var order: VersionOrder { VersionOrder(version, modified) }
}
