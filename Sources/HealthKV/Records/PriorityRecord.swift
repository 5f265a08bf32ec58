import ColumnFormat
import HealthModel

/// The kind of device from which a source writes. The numbers are embedded on disk and define the default order: never
/// reorder.
enum SourceKind: UInt8, Sendable, Comparable {
    case watch = 1
    case phone = 2
    case other = 3

    /// Apps report the device on which they run as their product, so the product decides only for sources of the
    /// system.
    init(_ source: Source) {
        let product = source.product ?? ""
        let isSystem = source.bundle.isEmpty || source.bundle.lowercased().hasPrefix("com.apple.health")
        self = !isSystem ? .other : product.hasPrefix("Watch") ? .watch : product.hasPrefix("iPhone") ? .phone : .other
    }

    static func < (left: SourceKind, right: SourceKind) -> Bool { left.rawValue < right.rawValue }
}

/// The ranking of sources: the kind of each source, and the orders that a user set. One record of `meta`.
struct PriorityRecord: Sendable, Equatable {
    /// The maximum number of places in one order.
    static let orderLimit = 16_384

    /// By number of the source; the best kind among its revisions.
    var kinds: [UInt32: SourceKind] = [:]
    /// By number of the type.
    var orders: [UInt32: [RankedSource]] = [:]

    func value(key: [UInt8], stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(UInt32(kinds.count))
        for (source, kind) in kinds.sorted(by: { $0.key < $1.key }) {
            record.append(source)
            record.append(kind.rawValue)
        }
        record.append(UInt32(orders.count))
        for (type, order) in orders.sorted(by: { $0.key < $1.key }) {
            record.append(type)
            record.append(UInt32(order.count))
            for place in order {
                record.append(place.source.bundle)
                record.append(place.source.name)
                record.append(place.isUserEntered.map { $0 ? 1 : 2 } ?? 0 as UInt8)
            }
        }
        return record.value(table: .meta, key: key, stamp: stamp)
    }

    init() {}

    init(_ span: RawSpan, key: [UInt8]) throws(FormatError) {
        var record = try RecordReader(span, table: .meta, key: key)
        for _ in 0..<(try record.read(UInt32.self)) {
            let source = try record.read(UInt32.self)
            guard let kind = SourceKind(rawValue: try record.read(UInt8.self)) else {
                throw FormatError(.unknown, "kind of a source")
            }
            kinds[source] = kind
        }
        for _ in 0..<(try record.read(UInt32.self)) {
            let type = try record.read(UInt32.self)
            var order: [RankedSource] = []
            for _ in 0..<(try record.read(UInt32.self)) {
                let bundle = try record.readText()
                let name = try record.readText()
                let flag = try record.read(UInt8.self)
                guard flag <= 2 else { throw FormatError(.unknown, "place of a source") }
                order.append(
                    RankedSource(
                        SourceIdentity(bundle: bundle, name: name), isUserEntered: flag == 0 ? nil : flag == 1))
            }
            orders[type] = order
        }
    }
}
