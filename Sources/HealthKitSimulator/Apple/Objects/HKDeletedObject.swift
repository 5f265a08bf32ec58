import Foundation

// Immutable; Apple marks it `Sendable` too.
public class HKDeletedObject: NSObject, @unchecked Sendable {
    public let uuid: UUID
    private let checked: CheckedMetadata

    init(_ deleted: DeletedRecord) {
        uuid = deleted.record.uuid
        checked = deleted.record.metadata
    }

    public var metadata: [String: Any]? { checked.syncValues }
}

// Immutable; Apple marks it `Sendable` too.
public class HKQueryAnchor: NSObject, NSSecureCoding, @unchecked Sendable {
    let sequence: Int64

    init(_ sequence: Int64) { self.sequence = sequence }

    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "sequence") else { return nil }
        sequence = coder.decodeInt64(forKey: "sequence")
    }

    public func encode(with coder: NSCoder) { coder.encode(sequence, forKey: "sequence") }
}
