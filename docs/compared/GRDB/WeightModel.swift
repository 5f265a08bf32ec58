import Foundation
import GRDB
import Observation

/// The view model of `SmallApps` on GRDB. It follows this process only: GRDB does not see what other processes write.
@MainActor @Observable
public final class WeightModel {
    public private(set) var lines: [String] = []
    public private(set) var usualWeight: Double?
    public private(set) var problem: String?
    private var following: [AnyDatabaseCancellable] = []

    public init(_ database: DatabasePool, now: Date = .now) {
        let live = WeightJournal.Entry.filter(Column("deleted") == nil)
        let recent = ValueObservation.tracking { db in
            try live.order(Column("time").desc).limit(5).fetchAll(db)
        }
        let month = ValueObservation.tracking { db in
            try live.filter(Column("time") >= now - 30 * 86_400 && Column("time") < now)
                .order(Column("kilograms")).fetchAll(db).map(\.kilograms)
        }
        following = [
            recent.start(in: database) { [weak self] error in
                self?.problem = "\(error)"
            } onChange: { [weak self] entries in
                self?.lines = entries.map { "\($0.kilograms) kg" }
            },
            month.start(in: database) { [weak self] error in
                self?.problem = "\(error)"
            } onChange: { [weak self] values in
                self?.usualWeight = WeightModel.median(values)
            },
        ]
    }

    private static func median(_ sorted: [Double]) -> Double? {
        if sorted.isEmpty { return nil }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }
}
