import ColumnFormat
import HealthModel

/// The order of the versions of one sample: by version, and by clock where two stores made the same version. It is the
/// same in every store, so all of them keep the same version in whatever order they meet.
///
/// A deletion has the order of its version and clock, and wins over a sample of the same order. Of two samples of the
/// same order the one with the greater canonical bytes wins, and an edit over an import is merged apart from the
/// import.
public struct VersionOrder: Comparable, Hashable, Sendable {
    /// The version of the sample, or of the edit that lies over it.
    public let version: Int64
    /// When the version was made, and by which replica.
    public let clock: ChangeClock

    /// Creates the place of a version. A version without a clock is older than all with one.
    public init(_ version: Int64, _ clock: ChangeClock?) { (self.version, self.clock) = (version, clock ?? .unknown) }

    public static func < (left: VersionOrder, right: VersionOrder) -> Bool {
        left.version != right.version ? left.version < right.version : left.clock < right.clock
    }
}

extension Sample {
    /// The place of the sample, or of the edit that lies over it, among the versions of the sample.
    public var order: VersionOrder { VersionOrder(version, modified) }
}

extension Sample.Original {
    var order: VersionOrder { VersionOrder(version, modified) }
}

extension Sample.Reversion {
    var order: VersionOrder { VersionOrder(version, modified) }
}

extension DeletedSample {
    /// The place of the deletion among the versions of the sample. A deletion wins over a version of the same place.
    public var order: VersionOrder { VersionOrder(version, modified) }
}

extension ChangeClock {
    /// Returns a deletion's clock that is later than the clock of the deleted version, even if another device stamped
    /// that version with a wrong clock. A version that came back from a health database has a clock one nanosecond
    /// older than the version that was written; the deletion covers that one, too.
    func covering(_ deleted: ChangeClock) -> ChangeClock {
        let (nanoseconds, overflows) = deleted.time.nanoseconds.addingReportingOverflow(2)
        if overflows || time.nanoseconds >= nanoseconds { return self }
        return ChangeClock(time: Instant(nanoseconds: nanoseconds), replica: replica)
    }
}

extension StoredRow {
    /// The time and replica at which the version was made.
    var clock: ChangeClock { ChangeClock(time: Instant(nanoseconds: clockTime), replica: clockReplica) }

    /// The version of the tombstone that a deletion made here leaves. An imported sample gets the greatest version, so
    /// that it stays away for good: otherwise its next version, or a pull after the tombstone is pruned, would bring it
    /// back.
    var versionOfDeletion: Int64 { flags.contains(.imported) ? Sample.versionLimit : version }
}
