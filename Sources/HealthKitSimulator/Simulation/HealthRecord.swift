import Foundation

/// A sample as the store keeps it.
struct HealthRecord: Sendable {
    enum Content: Sendable {
        case none
        case quantity(Double, HKUnit)
        case category(Int)
        case correlation([UUID])
        /// Rare and large, so that it does not make all others large.
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
    /// How many measurements the system condensed into it (A27).
    var count: Int32 = 1
    /// The place in the order of writing; given when it is saved.
    var sequence: Int64 = 0

    var source: String { revision.source.bundleIdentifier }
    var syncKey: SyncKey? {
        metadata.syncIdentifier.map { SyncKey(source: source, type: type.identifier, identifier: $0) }
    }
    var version: Double { metadata.syncVersion ?? 0 }
}

/// The key by which a sample is looked up among live ones (A4).
struct SyncKey: Hashable, Sendable {
    let source: String
    let type: String
    let identifier: String
}

/// What is left of a deleted sample. Dates serve predicates only; HealthKit does not show them (A11).
struct DeletedRecord: Sendable {
    let record: HealthRecord
    let sequence: Int64
    let date: Date
}
