import Foundation
import HealthKV
import Observation

/// What a view of the latest weights shows: it follows the store, also when another process writes.
@MainActor @Observable
public final class WeightModel {
    private let recent: StoreQuery<[Sample]>
    private let month: StoreQuery<Double?>

    public init(_ store: SampleStore, now: Date = .now) {
        recent = StoreQuery(store, SampleQuery(.bodyMass, order: .descending, limit: 5))
        month = StoreQuery(store) { try $0.distribution(SampleQuery(.bodyMass, in: (now - 30 * 86_400)...)).median }
    }

    public var lines: [String] { (recent.value ?? []).map { "\($0.quantity.value) \($0.quantity.unit)" } }
    public var usualWeight: Double? { month.value ?? nil }
    public var problem: String? { (recent.error ?? month.error).map { "\($0)" } }
}
