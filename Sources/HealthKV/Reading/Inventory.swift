import ColumnFormat
import HealthModel
import LMDB

/// Describes the samples of one type in a store.
public struct TypeSummary: Sendable, Hashable {
    /// The type.
    public let type: SampleType
    /// The number of live samples, including shadowed ones.
    public let samples: Int
    /// How many of them lost against another at exactly the same time, and are left out of reads by default.
    public let shadowed: Int
    /// Start of the earliest sample.
    public let first: Instant?
    /// Start of the latest sample.
    public let last: Instant?
    /// The units of the values: the canonical one; for a type without a canonical unit, all units in which its samples
    /// were entered.
    public let units: [HealthUnit]
    /// The canonical unit, or the common unit of a type that the catalog does not know; `nil` if there are several.
    public var unit: HealthUnit? { units.count == 1 ? units[0] : nil }
    /// Sources with live samples of the type.
    public let sources: [SourceIdentity]
    /// Bytes of the type's chunks and details.
    public let bytes: Int
}

/// Describes the samples of one source in a store.
public struct SourceSummary: Sendable, Hashable {
    /// Bundle and name of the source.
    public let source: SourceIdentity
    /// The revisions of the source, in the order in which they were first seen.
    public let revisions: [Source]
    /// The number of live samples of the source in all types; 0 if all of them are gone.
    public let samples: Int
    /// The types of which the source has live samples, by name.
    public let types: [SampleType]
    /// Start of the earliest sample; `nil` if there is none.
    public let first: Instant?
    /// Start of the latest sample; `nil` if there is none.
    public let last: Instant?
    /// The source's share of the bytes of its types, by number of samples.
    public let bytes: Int
}

/// A source and its number of samples, computed from names and counts without reading samples.
public struct SourceCount: Sendable, Hashable {
    /// The first revision that the store met.
    public let source: Source
    /// The number of live samples of all revisions in all types; 0 if all of them are gone.
    public let samples: Int
}

/// What the store holds, by type and by source.
enum Inventory {
    static func sourceCounts(in snapshot: Snapshot) throws -> [SourceCount] {
        let counts = try SummaryTable.allCounts(in: snapshot)
        let revisions = try revisionsBySource(in: snapshot)
        return try NameTable.numbers(.source, snapshot.view, snapshot.tables).map { number in
            let identity = try NameTable.source(number, in: snapshot)
            let samples = counts.reduce(0) { $0 + Int($1.counts.sources[number]?.samples ?? 0) }
            let first = revisions[number]?.first ?? Source(bundle: identity.bundle, name: identity.name)
            return SourceCount(source: first, samples: samples)
        }
    }

    private static func revisionsBySource(in snapshot: Snapshot) throws -> [UInt32: [Source]] {
        var revisions: [UInt32: [Source]] = [:]
        for number in try NameTable.numbers(.revision, snapshot.view, snapshot.tables) {
            let name = try NameTable.revision(number, in: snapshot)
            revisions[name.sourceNumber, default: []].append(name.source)
        }
        return revisions
    }

    static func typeSummaries(in snapshot: Snapshot, _ onDamage: (SampleType, StoreError) throws -> Void) throws
        -> [TypeSummary]
    {
        var summaries: [TypeSummary] = []
        for (number, counts) in try SummaryTable.allCounts(in: snapshot) where counts.samples > 0 {
            let type = try NameTable.type(number, in: snapshot)
            let bounds = try Inventory.bounds(number, source: nil, in: snapshot, onDamage)
            let units = try snapshot.unit(of: type).map { [$0] } ?? Inventory.units(number, in: snapshot, onDamage)
            summaries.append(
                TypeSummary(
                    type: type, samples: counts.samples, shadowed: counts.shadowed, first: bounds.first,
                    last: bounds.last, units: units,
                    sources: try counts.sources.filter { $0.value.samples > 0 }.keys.sorted().map {
                        try NameTable.source($0, in: snapshot)
                    },
                    bytes: try bytes(of: number, in: snapshot)))
        }
        return summaries.sorted { $0.type.shortName < $1.type.shortName }
    }

    static func sourceSummaries(
        in snapshot: Snapshot, _ onDamage: (SampleType, StoreError) throws -> Void
    ) throws -> [SourceSummary] {
        let counts = try SummaryTable.allCounts(in: snapshot)
        var typeBytes: [UInt32: Int] = [:]
        for (number, _) in counts { typeBytes[number] = try Inventory.bytes(of: number, in: snapshot) }
        let revisions = try revisionsBySource(in: snapshot)
        return try NameTable.numbers(.source, snapshot.view, snapshot.tables).map { number in
            let identity = try NameTable.source(number, in: snapshot)
            let own = counts.filter { $0.counts.sources[number]?.samples ?? 0 > 0 }
            var (first, last): (Instant?, Instant?)
            for (type, _) in own {
                let bounds = try Inventory.bounds(type, source: number, in: snapshot, onDamage)
                first = [first, bounds.first].compactMap(\.self).min()
                last = [last, bounds.last].compactMap(\.self).max()
            }
            let samples = own.reduce(0) { $0 + Int($1.counts.sources[number]!.samples) }
            let bytes = own.reduce(0) { sum, entry in
                sum + typeBytes[entry.type]! * Int(entry.counts.sources[number]!.samples) / max(1, entry.counts.samples)
            }
            return SourceSummary(
                source: identity, revisions: revisions[number] ?? [], samples: samples,
                types: try own.map { try NameTable.type($0.type, in: snapshot) }.sorted { $0.shortName < $1.shortName },
                first: first,
                last: last,
                bytes: bytes)
        }
    }

    private static func bounds(
        _ number: UInt32, source: UInt32?, in snapshot: Snapshot, _ onDamage: (SampleType, StoreError) throws -> Void
    ) throws -> (first: Instant?, last: Instant?) {
        func bound(_ order: SampleOrder) throws -> Instant? {
            var start: Instant?
            let sources = source.map { Set([$0]) }
            let query = RowQuery(order: order, sourceNumbers: sources, includeShadowed: true)
            do {
                try RowReader.forEachRow(of: number, query, in: snapshot) { row in
                    start = Instant(nanoseconds: row.start)
                    return false
                }
            } catch {
                try onDamage(NameTable.type(number, in: snapshot), damage(error, in: snapshot))
            }
            return start
        }
        return (try bound(.ascending), try bound(.descending))
    }

    /// Returns the units in which a type's samples were entered, by symbol.
    static func units(
        _ number: UInt32, in snapshot: Snapshot, _ onDamage: (SampleType, StoreError) throws -> Void
    ) throws -> [HealthUnit] {
        var numbers: Set<UInt32> = []
        for duration in DurationClass.allCases {
            do {
                try ChunkTable.forEachChunk(
                    Lane(type: number, duration: duration), from: .least, to: .greatest, in: snapshot
                ) { chunk in
                    guard chunk.rows > 0 else { return true }
                    try chunk.verify()
                    let common = try chunk.commonUnit()
                    numbers.formUnion(try common.map { [$0] } ?? chunk.distinctUnits())
                    return true
                }
            } catch {
                try onDamage(NameTable.type(number, in: snapshot), damage(error, in: snapshot))
            }
        }
        return try numbers.map { try NameTable.unit($0, in: snapshot) }.sorted { $0.symbol < $1.symbol }
    }

    /// Returns the error as damage of the store; rethrows it if it is not damage.
    private static func damage(_ error: any Error, in snapshot: Snapshot) throws -> StoreError {
        guard let damage = StoreError.wrap(error, path: snapshot.context.path) as? StoreError, damage.code == .damaged
        else {
            throw error
        }
        return damage
    }

    /// Returns the size of a type's values in both tables of chunks.
    private static func bytes(of type: UInt32, in snapshot: Snapshot) throws -> Int {
        var bytes = 0
        for table in [TableCode.chunks, .details] {
            var cursor = try snapshot.view.cursor(snapshot.tables[table])
            var found = try cursor.seek(ChunkKey(lane: Lane(type: type, duration: .hour), lower: .least).bytes)
            while found, try ChunkKey(cursor.key).lane.type == type {
                bytes += cursor.stored.byteCount
                found = try cursor.next()
            }
        }
        return bytes
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the types that have live samples, by name.
    public func types() throws -> [TypeSummary] { try types { throw $1 } }

    /// Returns the types that have live samples, by name, even if some samples are damaged.
    ///
    /// - Parameter onDamage: called with each part of a type that cannot be read. If it throws, the call throws the
    ///   same error; otherwise the result leaves out the data of that part.
    public func types(onDamage: (SampleType, StoreError) throws -> Void) throws -> [TypeSummary] {
        try Inventory.typeSummaries(in: snapshot, onDamage)
    }

    /// Returns the types that the store has met, including those that have no samples now.
    package func knownTypes() throws -> [SampleType] {
        let snapshot = snapshot
        return try NameTable.numbers(.type, snapshot.view, snapshot.tables).map {
            try NameTable.type($0, in: snapshot)
        }
    }

    /// Returns the sources that the store has met, in the order in which it first saw them.
    public func sources() throws -> [SourceSummary] { try sources { throw $1 } }

    /// Returns the sources that the store has met, in the order in which it first saw them, even if some samples are
    /// damaged.
    ///
    /// - Parameter onDamage: called with each part of a type that cannot be read. If it throws, the call throws the
    ///   same error; otherwise the result leaves out the data of that part.
    public func sources(onDamage: (SampleType, StoreError) throws -> Void) throws -> [SourceSummary] {
        try Inventory.sourceSummaries(in: snapshot, onDamage)
    }

    /// Returns the sources that the store has met, in the order in which it first saw them, without reading samples.
    public func sourceCounts() throws -> [SourceCount] { try Inventory.sourceCounts(in: snapshot) }

    /// Returns the sources that have or had a name, and those with it as their bundle, in the order in which the store
    /// first saw them.
    package func sources(named name: String) throws -> [SourceIdentity] {
        let snapshot = snapshot
        let named = try NameTable.numbers(meantBy: SourceIdentity(name: name), in: snapshot)
        return try NameTable.numbers(.source, snapshot.view, snapshot.tables).sorted().compactMap { number in
            let source = try NameTable.source(number, in: snapshot)
            return named.contains(number) || isSameText(source.bundle, name) ? source : nil
        }
    }
}
