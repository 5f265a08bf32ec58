import ColumnFormat
import HealthModel
import LMDB

/// What a store holds of one type.
public struct TypeSummary: Sendable, Hashable {
    /// The type that this tells of.
    public let type: SampleType
    /// Live samples, shadowed ones included.
    public let samples: Int
    /// How many of them lost against another at exactly the same time, and are left out of reads by default.
    public let shadowed: Int
    /// Start of the earliest and of the latest sample.
    public let first: Instant?
    /// Start of the latest sample.
    public let last: Instant?
    /// Canonical unit, or the common one of a type that the catalog does not know.
    public let unit: HealthUnit?
    /// Sources with live samples of the type.
    public let sources: [SourceIdentity]
    /// Bytes of the type's chunks and details.
    public let bytes: Int
}

/// What a store holds of one source.
public struct SourceSummary: Sendable, Hashable {
    /// Bundle and name of the source.
    public let source: SourceIdentity
    /// Its revisions, in the order in which they were first seen.
    public let revisions: [Source]
    /// Live samples of the source in all types; 0 when all of them are gone.
    public let samples: Int
    /// The types that it has live samples of, by name.
    public let types: [SampleType]
    /// Start of its earliest sample; `nil` when it has none.
    public let first: Instant?
    /// Start of its latest sample; `nil` when it has none.
    public let last: Instant?
    /// Its share of the bytes of its types, by number of samples.
    public let bytes: Int
}

extension SampleReading where Self: ~Copyable {
    /// The types that have live samples, by name.
    public func types() throws -> [TypeSummary] { try snapshot.typeSummaries() }

    /// The sources that the store has met, in the order in which it first saw them.
    public func sources() throws -> [SourceSummary] { try snapshot.sourceSummaries() }
}

extension Snapshot {
    func typeSummaries() throws -> [TypeSummary] {
        var summaries: [TypeSummary] = []
        for (number, counts) in try allCounts() where counts.samples > 0 {
            let type = try type(number)
            let bounds = try bounds(number, source: nil)
            summaries.append(
                TypeSummary(
                    type: type, samples: counts.samples, shadowed: counts.shadowed, first: bounds.first,
                    last: bounds.last, unit: try type.canonicalUnit ?? anyUnit(number),
                    sources: try counts.sources.filter { $0.value.samples > 0 }.keys.sorted().map { try source($0) },
                    bytes: try bytes(of: number)))
        }
        return summaries.sorted { $0.type.shortName < $1.type.shortName }
    }

    func sourceSummaries() throws -> [SourceSummary] {
        let counts = try allCounts()
        var typeBytes: [UInt32: Int] = [:]
        for (number, _) in counts { typeBytes[number] = try bytes(of: number) }
        var revisions: [UInt32: [Source]] = [:]
        for number in try NameLookup.numbers(.revision, view, tables) {
            let name = try revision(number)
            revisions[name.sourceNumber, default: []].append(name.source)
        }
        return try NameLookup.numbers(.source, view, tables).map { number in
            let identity = try source(number)
            let own = counts.filter { $0.counts.sources[number]?.samples ?? 0 > 0 }
            var (first, last): (Instant?, Instant?)
            for (type, _) in own {
                let bounds = try bounds(type, source: identity)
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

    private func bounds(_ type: UInt32, source: SourceIdentity?) throws -> (first: Instant?, last: Instant?) {
        var starts: [Int64] = []
        for order in [SampleOrder.ascending, .descending] {
            let query = SampleQuery(order: order, source: source, includeShadowed: true)
            try forEachRow(of: type, query) { row in
                starts.append(row.start)
                return false
            }
        }
        return (starts.first.map { Instant(nanoseconds: $0) }, starts.last.map { Instant(nanoseconds: $0) })
    }

    /// The unit of the first sample.
    private func anyUnit(_ type: UInt32) throws -> HealthUnit? {
        var unit: HealthUnit?
        try forEachRow(of: type, SampleQuery(includeShadowed: true)) { row in
            unit = try self.unit(row.unit)
            return false
        }
        return unit
    }

    /// Bytes of a type's values in both tables of chunks.
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
