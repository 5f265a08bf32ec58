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

extension SampleReading where Self: ~Copyable {
    /// Returns the types that have live samples, by name.
    public func types() throws -> [TypeSummary] { try types { throw $1 } }

    /// Returns the types that have live samples, by name, even if some samples are damaged.
    ///
    /// - Parameter onDamage: called with each part of a type that cannot be read. If it throws, the call throws the
    ///   same error; otherwise the result leaves out the data of that part.
    public func types(onDamage: (SampleType, StoreError) throws -> Void) throws -> [TypeSummary] {
        try snapshot.typeSummaries(onDamage)
    }

    /// Returns the sources that the store has met, in the order in which it first saw them.
    public func sources() throws -> [SourceSummary] { try sources { throw $1 } }

    /// Returns the sources that the store has met, in the order in which it first saw them, even if some samples are
    /// damaged.
    ///
    /// - Parameter onDamage: called with each part of a type that cannot be read. If it throws, the call throws the
    ///   same error; otherwise the result leaves out the data of that part.
    public func sources(onDamage: (SampleType, StoreError) throws -> Void) throws -> [SourceSummary] {
        try snapshot.sourceSummaries(onDamage)
    }

    /// Returns the sources that the store has met, in the order in which it first saw them, without reading samples.
    public func sourceCounts() throws -> [SourceCount] { try snapshot.sourceCounts() }
}

extension Snapshot {
    fileprivate func sourceCounts() throws -> [SourceCount] {
        let counts = try allCounts()
        let revisions = try revisionsBySource()
        return try NameLookup.numbers(.source, view, tables).map { number in
            let identity = try source(number)
            let samples = counts.reduce(0) { $0 + Int($1.counts.sources[number]?.samples ?? 0) }
            let first = revisions[number]?.first ?? Source(bundle: identity.bundle, name: identity.name)
            return SourceCount(source: first, samples: samples)
        }
    }

    private func revisionsBySource() throws -> [UInt32: [Source]] {
        var revisions: [UInt32: [Source]] = [:]
        for number in try NameLookup.numbers(.revision, view, tables) {
            let name = try revision(number)
            revisions[name.sourceNumber, default: []].append(name.source)
        }
        return revisions
    }

    fileprivate func typeSummaries(_ onDamage: (SampleType, StoreError) throws -> Void) throws -> [TypeSummary] {
        var summaries: [TypeSummary] = []
        for (number, counts) in try allCounts() where counts.samples > 0 {
            let type = try type(number)
            let bounds = try bounds(number, source: nil, onDamage)
            let units = try type.canonicalUnit.map { [$0] } ?? units(number, onDamage)
            summaries.append(
                TypeSummary(
                    type: type, samples: counts.samples, shadowed: counts.shadowed, first: bounds.first,
                    last: bounds.last, units: units,
                    sources: try counts.sources.filter { $0.value.samples > 0 }.keys.sorted().map { try source($0) },
                    bytes: try bytes(of: number)))
        }
        return summaries.sorted { $0.type.shortName < $1.type.shortName }
    }

    fileprivate func sourceSummaries(
        _ onDamage: (SampleType, StoreError) throws -> Void
    ) throws -> [SourceSummary] {
        let counts = try allCounts()
        var typeBytes: [UInt32: Int] = [:]
        for (number, _) in counts { typeBytes[number] = try bytes(of: number) }
        let revisions = try revisionsBySource()
        return try NameLookup.numbers(.source, view, tables).map { number in
            let identity = try source(number)
            let own = counts.filter { $0.counts.sources[number]?.samples ?? 0 > 0 }
            var (first, last): (Instant?, Instant?)
            for (type, _) in own {
                let bounds = try bounds(type, source: number, onDamage)
                first = [first, bounds.first].compactMap(\.self).min()
                last = [last, bounds.last].compactMap(\.self).max()
            }
            let samples = own.reduce(0) { $0 + Int($1.counts.sources[number]!.samples) }
            let bytes = own.reduce(0) { sum, entry in
                sum + typeBytes[entry.type]! * Int(entry.counts.sources[number]!.samples) / max(1, entry.counts.samples)
            }
            return SourceSummary(
                source: identity, revisions: revisions[number] ?? [], samples: samples,
                types: try own.map { try type($0.type) }.sorted { $0.shortName < $1.shortName }, first: first,
                last: last,
                bytes: bytes)
        }
    }

    private func bounds(
        _ number: UInt32, source: UInt32?, _ onDamage: (SampleType, StoreError) throws -> Void
    ) throws -> (first: Instant?, last: Instant?) {
        func bound(_ order: SampleOrder) throws -> Instant? {
            var start: Instant?
            let sources = source.map { Set([$0]) }
            let query = SampleQuery(order: order, sourceNumbers: sources, includeShadowed: true)
            do {
                try forEachRow(of: number, query) { row in
                    start = Instant(nanoseconds: row.start)
                    return false
                }
            } catch {
                try onDamage(type(number), damage(error))
            }
            return start
        }
        return (try bound(.ascending), try bound(.descending))
    }

    /// Returns the units in which a type's samples were entered, by symbol.
    private func units(
        _ number: UInt32, _ onDamage: (SampleType, StoreError) throws -> Void
    ) throws -> [HealthUnit] {
        var numbers: Set<UInt32> = []
        for duration in DurationClass.allCases {
            do {
                try forEachChunk(Lane(type: number, duration: duration), from: .least, to: .greatest) { chunk in
                    guard chunk.rows > 0 else { return true }
                    try chunk.verify()
                    let common = try chunk.commonUnit()
                    numbers.formUnion(try common.map { [$0] } ?? chunk.distinctUnits())
                    return true
                }
            } catch {
                try onDamage(type(number), damage(error))
            }
        }
        return try numbers.map { try unit($0) }.sorted { $0.symbol < $1.symbol }
    }

    /// Returns the error as damage of the store; rethrows it if it is not damage.
    private func damage(_ error: any Error) throws -> StoreError {
        guard let damage = StoreError.wrap(error, path: context.path) as? StoreError, damage.code == .damaged else {
            throw error
        }
        return damage
    }

    /// Returns the size of a type's values in both tables of chunks.
    private func bytes(of type: UInt32) throws -> Int {
        var bytes = 0
        for table in [TableCode.chunks, .details] {
            var cursor = try view.cursor(tables[table])
            var found = try cursor.seek(ChunkKey(lane: Lane(type: type, duration: .hour), lower: .least).bytes)
            while found, try ChunkKey(cursor.key).lane.type == type {
                bytes += cursor.value.byteCount
                found = try cursor.next()
            }
        }
        return bytes
    }
}
