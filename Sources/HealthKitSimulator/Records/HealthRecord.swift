import Foundation

/// A sample as the store holds it.
struct HealthRecord: Sendable {
    enum Content: Sendable {
        case none
        case quantity(Double, HKUnit)
        case category(Int)
        case correlation([UUID])
        /// Workouts are rare and large: `indirect` keeps all other records small.
        indirect case workout(WorkoutContent)
    }

    let uuid: UUID
    let type: HKSampleType
    let start: Date
    let end: Date
    var content: Content
    let metadata: CheckedMetadata
    var revision: HKSourceRevision
    let device: HKDevice?
    /// How many measurements the system condensed into the sample (A27).
    var count: Int32 = 1
    /// The place in the order of writing, assigned when the sample is saved.
    var sequence: Int64 = 0

    var source: String { revision.source.bundleIdentifier }
    var syncKey: SyncKey? {
        metadata.syncIdentifier.map { SyncKey(source: source, type: type.identifier, identifier: $0) }
    }
    var version: Double { metadata.syncVersion ?? 0 }
}

extension HealthRecord {
    /// The value in the type's unit.
    var amount: Double? {
        guard case .quantity(let value, let own) = content, case .quantity(let unit, _) = type.known?.content else {
            return nil
        }
        return HKQuantity(unit: own, doubleValue: value).doubleValue(for: unit)
    }

    /// Creates one sample in place of several, with their sum, or with their mean if a sum makes no sense.
    init?(condensing records: [HealthRecord]) {
        guard let first = records.first, records.count > 1,
            case .quantity(let unit, let isCumulative) = first.type.known?.content
        else { return nil }
        let count = records.map(\.count).reduce(0, +)
        let sum = records.compactMap(\.amount).reduce(0, +)
        self.init(
            uuid: SimulatedIdentifiers.next(), type: first.type, start: records.map(\.start).min() ?? first.start,
            end: records.map(\.end).max() ?? first.end,
            content: .quantity(isCumulative ? sum : sum / Double(records.count), unit),
            metadata: CheckedMetadata(), revision: first.revision, device: first.device)
        self.count = count
    }
}

/// The key that identifies a sample among live ones (A4).
struct SyncKey: Hashable, Sendable {
    let source: String
    let type: String
    let identifier: String
}

/// The remainder of a deleted sample. Dates are used only by predicates; HealthKit does not show them (A11).
struct DeletedRecord: Sendable {
    let record: HealthRecord
    let sequence: Int64
    let date: Date
}
