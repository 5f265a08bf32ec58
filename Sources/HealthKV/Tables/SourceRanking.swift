import ColumnFormat
import HealthModel

/// A competitor for time: a rank belongs to a source and to whether a person typed the sample in.
struct RankedClass: Sendable, Hashable {
    var source: UInt32
    var isUserEntered: Bool
}

/// The ranked classes of samples of one type.
struct SourceRanking: Sendable, Equatable {
    private(set) var classes: [RankedClass] = []
    /// The sources of the classes, ascending.
    private(set) var sources: [UInt32] = []
    private var ranks: [RankedClass: Int32] = [:]

    init(_ sorted: [RankedClass]) {
        classes = sorted
        sources = Set(sorted.map(\.source)).sorted()
        for (rank, entry) in sorted.enumerated() { ranks[entry] = Int32(rank) }
    }

    func rank(source: UInt32, isUserEntered: Bool) -> Int32? {
        ranks[RankedClass(source: source, isUserEntered: isUserEntered)]
    }

    func index(ofSource source: UInt32) -> Int32? { sources.firstIndex(of: source).map { Int32($0) } }
}

/// Orders classes: as listed, then entered by the user, watch, phone, others; the source met last comes first. The same
/// rules order several sources that share a place, because a place without a bundle covers all sources of its name.
struct RankKey: Comparable {
    let place: Int
    let isUserEntered: Bool
    let kind: SourceKind
    let number: UInt32
    let name: String

    static func < (left: RankKey, right: RankKey) -> Bool {
        if left.place != right.place { return left.place < right.place }
        if left.isUserEntered != right.isUserEntered { return left.isUserEntered }
        if !left.isUserEntered, left.kind != right.kind { return left.kind < right.kind }
        if left.number != right.number { return left.number > right.number }
        return left.name < right.name
    }
}

extension SourceRanking {
    /// Returns the ranking of a type's sources: by the given order, otherwise by the order that was set, otherwise by
    /// default.
    ///
    /// - Parameter selected: numbers of the sources to rank; `nil` for all that have samples of the type.
    static func ranking(
        of type: UInt32, order given: [RankedSource]? = nil, selected: Set<UInt32>? = nil, in snapshot: Snapshot
    ) throws -> SourceRanking {
        let record = try PriorityTable.priorities(in: snapshot)
        var ranked: [(key: RankKey, entry: RankedClass)] = []
        for number in try SummaryTable.counts(of: type, in: snapshot).sources.keys
        where selected?.contains(number) ?? true {
            for isUserEntered in [true, false] {
                let entry = RankedClass(source: number, isUserEntered: isUserEntered)
                ranked.append((try key(entry, of: type, by: record, order: given, in: snapshot), entry))
            }
        }
        return SourceRanking(ranked.sorted { $0.key < $1.key }.map(\.entry))
    }

    /// Returns the sort key of a class by the given order, otherwise by the order that was set, otherwise by default.
    static func key(
        _ entry: RankedClass, of type: UInt32, by record: PriorityRecord, order given: [RankedSource]? = nil,
        in snapshot: Snapshot
    ) throws -> RankKey {
        let source = try NameTable.source(entry.source, in: snapshot)
        let order = given ?? record.orders[type] ?? []
        let place = RankedSource.place(of: source, isUserEntered: entry.isUserEntered, in: order)
        return RankKey(
            place: place ?? .max, isUserEntered: entry.isUserEntered, kind: record.kinds[entry.source] ?? .other,
            number: entry.source, name: source.name)
    }
}
