import ColumnFormat
import HealthModel
import LMDB

/// What one transaction knows beside its view: tables, header, names, unfinished mass operations. It belongs to one
/// transaction and one thread.
final class ReadContext {
    let tables: Tables
    let path: String
    var header: StoreHeader
    /// The last commit that is durable, also for the writer of the next one.
    let lastCommit: UInt64
    /// Starts as what the store knows; a writer adds its own, and takes them back when it fails.
    var names: NameBook
    var intents: [Intent]
    /// What was verified already; `nil` in a writer, whose pages change under their addresses.
    let verified: VerifiedBlocks?
    /// Partitions of the identity index that were looked up, by lower bound.
    var partitions: [IdentityPartition] = []
    /// Counts of the types that a writer changed; the table has them only once it commits.
    var counts: [UInt32: TypeCounts] = [:]

    init(
        tables: Tables, path: String, header: StoreHeader, names: NameBook, intents: [Intent], verified: VerifiedBlocks?
    ) {
        self.tables = tables
        self.path = path
        self.header = header
        lastCommit = header.commit
        self.names = names
        self.intents = intents
        self.verified = verified
    }
}

extension ReadContext: DerivedIDResolver {
    func derivedPrefix(type: UInt32, revision: UInt32) -> DerivedID.Prefix? {
        let key = UInt64(type) << 32 | UInt64(revision)
        if let prefix = names.prefixes[key] { return prefix }
        guard let type = names.types[type] ?? SampleType(catalogNumber: type), let name = names.revisions[revision]
        else {
            return nil
        }
        let prefix = DerivedID.Prefix(type: type, source: name.source.identity)
        names.prefixes[key] = prefix
        return prefix
    }

    func canonicalValue(_ value: Double, unit: UInt32, type: UInt32) -> Double {
        guard let unit = HealthUnit(number: unit), let type = names.types[type] ?? SampleType(catalogNumber: type)
        else {
            return value
        }
        return DerivedID.canonical(value, unit, of: type)
    }
}

/// What a transaction sees of the store: every read goes through it. It cannot outlive its transaction.
public struct Snapshot: ~Escapable {
    let view: View
    let context: ReadContext

    @_lifetime(copy view)
    init(view: View, context: ReadContext) {
        self.view = view
        self.context = context
    }

    var tables: Tables { context.tables }
    var header: StoreHeader { context.header }
}

extension Snapshot {
    func damaged(_ what: String) -> StoreError {
        StoreError(.damaged, path: context.path, "The store is damaged: \(what)")
    }

    /// The type of a number.
    func type(_ number: UInt32) throws -> SampleType {
        if let type = SampleType(catalogNumber: number) ?? context.names.types[number] { return type }
        guard let bytes = try NameLookup.bytes(.type, number, view, tables) else { throw damaged("a type has no name") }
        let type = try NameCoding.type(bytes)
        context.names.add(type: type, number)
        return type
    }

    /// The number of a type, if the store has met it.
    func number(of type: SampleType) throws -> UInt32? {
        if let number = type.catalogNumber ?? context.names.typeNumbers[type] { return number }
        let bytes = NameCoding.encode(type: type)
        guard let number = try NameLookup.number(.type, bytes, header.hashKey, view, tables) else { return nil }
        context.names.add(type: type, number)
        return number
    }

    func source(_ number: UInt32) throws -> SourceIdentity {
        if let source = context.names.sources[number] { return source }
        guard let bytes = try NameLookup.bytes(.source, number, view, tables) else {
            throw damaged("a source has no name")
        }
        let source = try NameCoding.source(bytes)
        context.names.add(source: source, number)
        return source
    }

    func number(of source: SourceIdentity) throws -> UInt32? {
        if let number = context.names.sourceNumbers[source] { return number }
        let bytes = NameCoding.encode(source: source)
        guard let number = try NameLookup.number(.source, bytes, header.hashKey, view, tables) else { return nil }
        context.names.add(source: source, number)
        return number
    }

    func revision(_ number: UInt32) throws -> RevisionName {
        if let revision = context.names.revisions[number] { return revision }
        guard let bytes = try NameLookup.bytes(.revision, number, view, tables) else {
            throw damaged("a source's revision has no name")
        }
        let fields = try NameCoding.revision(bytes)
        let identity = try source(fields.source)
        let name = RevisionName(
            sourceNumber: fields.source,
            source: Source(
                bundle: identity.bundle, name: identity.name, version: fields.version, product: fields.product,
                system: fields.system))
        context.names.add(revision: name, number)
        return name
    }

    func device(_ number: UInt32) throws -> Device? {
        if number == 0 { return nil }
        if let device = context.names.devices[number] { return device }
        guard let bytes = try NameLookup.bytes(.device, number, view, tables) else {
            throw damaged("a device has no name")
        }
        let device = try NameCoding.device(bytes)
        context.names.add(device: device, number)
        return device
    }

    /// Looks up every name that the rows of a chunk use, so that decoding needs no table.
    func loadNames(of chunk: borrowing HotChunk) throws {
        _ = try type(chunk.key.lane.type)
        if let common = try chunk.commonRevision() {
            _ = try revision(common)
        } else if chunk.rows > 0 {
            for number in try chunk.distinctRevisions() { _ = try revision(number) }
        }
    }

    /// A row as the sample that users know.
    func sample(_ row: StoredRow, _ typeNumber: UInt32) throws -> Sample {
        guard let unit = HealthUnit(number: row.unit) else { throw damaged("a unit has no name") }
        let type = try type(typeNumber)
        var sample = Sample(
            type, row.value, unit, from: Instant(nanoseconds: row.start), to: Instant(nanoseconds: row.end),
            source: try revision(row.revision).source, id: row.id,
            syncIdentifier: row.flags.contains(.syncIsID) ? row.id.description : row.rare?.syncIdentifier,
            version: row.version, origin: row.flags.contains(.imported) ? .imported : .authored,
            isUserEntered: row.flags.contains(.userEntered), device: try device(row.device),
            metadata: try row.rare?.metadata.map { try MetadataCoding.decode($0) } ?? [:], group: row.rare?.group)
        sample.modified = ChangeClock(time: Instant(nanoseconds: row.clockTime), replica: row.clockReplica)
        sample.isShadowed = row.isShadowed
        sample.count = Int(row.count)
        sample.multiplicity = Int(row.multiplicity)
        return sample
    }
}
