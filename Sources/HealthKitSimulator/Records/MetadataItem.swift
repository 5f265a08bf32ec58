import Foundation

/// A metadata value that HealthKit accepts.
enum MetadataItem: Sendable, Hashable {
    case text(String)
    case number(Double)
    case flag(Bool)
    case date(Date)
    case quantity(HKQuantity)

    init?(_ value: Any) {
        // A number that is one or zero also casts to `Bool`.
        switch value {
        case let text as String: self = .text(text)
        case let flag as Bool where type(of: value) == Bool.self: self = .flag(flag)
        case let number as Int: self = .number(Double(number))
        case let number as Int64: self = .number(Double(number))
        case let number as Double: self = .number(number)
        case let number as NSNumber: self = .number(number.doubleValue)
        case let date as Date: self = .date(date)
        case let quantity as HKQuantity: self = .quantity(quantity)
        default: return nil
        }
    }

    /// The value as HealthKit returns it: numbers as `NSNumber`.
    var value: Any {
        switch self {
        case .text(let text): text
        case .number(let number): NSNumber(value: number)
        case .flag(let flag): flag
        case .date(let date): date
        case .quantity(let quantity): quantity
        }
    }
}

/// Metadata, checked by HealthKit's rules (A3, A26).
struct CheckedMetadata: Sendable, Hashable {
    private(set) var items: [String: MetadataItem] = [:]

    init() {}

    init(_ metadata: [String: Any]?) {
        for (key, value) in metadata ?? [:] {
            if let item = MetadataItem(value) {
                items[key] = item
            } else {
                SimulatedMisuse.found("Metadata value of \(key) is of no kind that HealthKit takes")
            }
        }
        let keys = (items[HKMetadataKeySyncIdentifier] != nil, items[HKMetadataKeySyncVersion] != nil)
        if keys.0 != keys.1 { SimulatedMisuse.found("One of sync identifier and sync version without the other") }
        if keys.0, syncIdentifier == nil { SimulatedMisuse.found("A sync identifier that is no text") }
        if keys.1, syncVersion == nil { SimulatedMisuse.found("A sync version that is no number") }
        for (key, expected) in CheckedMetadata.kinds {
            if let item = items[key], !expected(item) {
                SimulatedMisuse.found("Metadata value of \(key) is of the wrong kind")
            }
        }
    }

    private static let kinds: [String: @Sendable (MetadataItem) -> Bool] = [
        HKMetadataKeyWasUserEntered: { $0.isFlag }, HKMetadataKeyTimeZone: { $0.text != nil },
        "HKFoodType": { $0.text != nil },
    ]

    var syncIdentifier: String? { items[HKMetadataKeySyncIdentifier]?.text }
    var syncVersion: Double? {
        if case .number(let version) = items[HKMetadataKeySyncVersion] { version } else { nil }
    }
    var wasUserEntered: Bool { items[HKMetadataKeyWasUserEntered] == .flag(true) }

    var values: [String: Any]? { items.isEmpty ? nil : items.mapValues(\.value) }
    /// The metadata that a deleted object keeps (A11).
    var syncValues: [String: Any]? {
        let kept = items.filter { $0.key == HKMetadataKeySyncIdentifier || $0.key == HKMetadataKeySyncVersion }
        return kept.isEmpty ? nil : kept.mapValues(\.value)
    }
}

extension MetadataItem {
    var text: String? { if case .text(let text) = self { text } else { nil } }
    var isFlag: Bool {
        switch self {
        case .flag: true
        case .number(let number): number == 0 || number == 1
        default: false
        }
    }
}
