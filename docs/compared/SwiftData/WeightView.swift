import Foundation
import SwiftData
import SwiftUI

/// What the view model of `SmallApps` shows, on SwiftData: `@Query` follows the container.
public struct WeightView: View {
    @Query private var recent: [WeightEntry]
    @Query private var month: [WeightEntry]

    public init(now: Date = .now) {
        var latest = FetchDescriptor<WeightEntry>(
            predicate: #Predicate { $0.deleted == nil }, sortBy: [SortDescriptor(\.time, order: .reverse)])
        latest.fetchLimit = 5
        _recent = Query(latest)
        let from = now - 30 * 86_400
        _month = Query(
            FetchDescriptor<WeightEntry>(
                predicate: #Predicate { $0.deleted == nil && $0.time >= from && $0.time < now },
                sortBy: [SortDescriptor(\.kilograms)]))
    }

    private var usualWeight: Double? {
        if month.isEmpty { return nil }
        return (month[(month.count - 1) / 2].kilograms + month[month.count / 2].kilograms) / 2
    }

    public var body: some View {
        List(recent) { Text("\($0.kilograms) kg") }
        if let usualWeight { Text("\(usualWeight) kg") }
    }
}
