import Foundation
import HealthKV

/// The numbers of types and kinds in rows, and how far a range of each type looks back.
///
/// A contestant stores it as one small record, in the transaction that changed it.
struct KindBook: Codable {
    private(set) var kinds: [RowKind] = []
    private(set) var types: [SampleType] = []
    /// The longest duration of each type.
    private(set) var longest: [Int64] = []
    private var kindNumbers: [RowKind: UInt16] = [:]
    private var typeNumbers: [SampleType: UInt16] = [:]
    /// The units to which columns of a kind are converted; `nil` if no conversion is needed.
    private(set) var targetUnits: [HealthUnit?] = []
    /// Whether there are unwritten changes.
    private(set) var isChanged = false

    private enum CodingKeys: String, CodingKey { case kinds, longest }

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        for kind in try container.decode([RowKind].self, forKey: .kinds) { _ = number(of: kind) }
        longest = try container.decode([Int64].self, forKey: .longest)
        isChanged = false
    }

    /// The number of a kind, added with its type if it is new.
    mutating func number(of kind: RowKind) -> UInt16 {
        if let number = kindNumbers[kind] { return number }
        if typeNumbers[kind.type] == nil {
            typeNumbers[kind.type] = UInt16(types.count)
            types.append(kind.type)
            longest.append(0)
        }
        kindNumbers[kind] = UInt16(kinds.count)
        kinds.append(kind)
        let target = kind.type.canonicalUnit
        targetUnits.append(target == kind.unit ? nil : target)
        isChanged = true
        return UInt16(kinds.count - 1)
    }

    func number(of type: SampleType) -> UInt16? { typeNumbers[type] }

    /// The number of a kind's type.
    func typeNumber(ofKind kind: UInt16) -> UInt16 { typeNumbers[kinds[Int(kind)].type]! }

    /// Notes a duration if it is the longest of its type.
    mutating func note(duration: Int64, ofType type: UInt16) {
        guard duration > longest[Int(type)] else { return }
        longest[Int(type)] = duration
        isChanged = true
    }

    /// Whether values of a type have several units, so that columns must be converted.
    func converts(_ type: UInt16) -> Bool {
        kinds.indices.contains { typeNumbers[kinds[$0].type] == type && targetUnits[$0] != nil }
    }

    /// A value in its type's canonical unit.
    func canonical(_ value: Double, ofKind kind: Int) -> Double {
        guard let target = targetUnits[kind] else { return value }
        return (try? kinds[kind].unit.convert(value, to: target)) ?? value
    }

    /// The bytes to be written.
    mutating func bytes() throws -> Data {
        isChanged = false
        return try JSONEncoder().encode(self)
    }
}

/// The columns of one row, as the contestants with rows keep it.
struct RowFields {
    var id: SampleID
    var start: Int64
    var end: Int64
    var value: Double
    var kind: UInt16
    var sync: String?
    /// The rare fields, except the sync identifier.
    var extras: [UInt8] = []

    /// The row of a batch, with its kind by number. Inlined, so that the batch is not copied for each row.
    @inline(__always)
    init(_ batch: SampleBatch, row: Int, kind: UInt16) throws {
        id = batch.ids[row]
        start = batch.starts[row]
        end = batch.ends[row]
        value = batch.values[row]
        self.kind = kind
        if let rare = batch.extras[row] {
            sync = rare.syncIdentifier
            extras = try RowExtras.bytes(rare, withSync: false)
        }
    }

    init(id: SampleID, start: Int64, end: Int64, value: Double, kind: UInt16) {
        self.id = id
        self.start = start
        self.end = end
        self.value = value
        self.kind = kind
    }

    /// The whole sample.
    func sample(_ book: KindBook) throws -> Sample {
        let kind = book.kinds[Int(kind)]
        var sample = Sample(
            kind.type, value, kind.unit, from: Instant(nanoseconds: start), to: Instant(nanoseconds: end),
            source: kind.source, id: id, origin: kind.origin, isUserEntered: kind.isUserEntered)
        if !extras.isEmpty { try RowExtras.apply(extras, to: &sample) }
        if let sync { sample.syncIdentifier = sync }
        return sample
    }
}

extension SampleBatch {
    /// The rows in the order of type, start and id.
    func rowsByTime() -> [Int] {
        let typeOfKind = kinds.map { kind in kinds.firstIndex { $0.type == kind.type }! }
        var rows = Array(0..<count)
        rows.sort {
            let (left, right) = (typeOfKind[Int(kindOfRow[$0])], typeOfKind[Int(kindOfRow[$1])])
            if left != right { return left < right }
            return starts[$0] != starts[$1] ? starts[$0] < starts[$1] : ids[$0] < ids[$1]
        }
        return rows
    }
}
