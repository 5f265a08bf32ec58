import ColumnFormat
import HealthModel
import LMDB

/// What a transaction has beside its view: the tables, its state, and the caches of the process. It belongs to one
/// transaction and one thread.
final class ReadContext {
    let tables: Tables
    let path: String
    /// The last durable commit, also in the transaction that writes the next one.
    let lastCommit: UInt64
    /// Blocks with more samples than this must have a summary.
    var thinSamples = EngineLimits().thinSamples
    /// What the transaction knows and, in a writer, what it changes.
    var state: TransactionState
    /// The blocks that were already verified; `nil` in a writer, whose pages change in place.
    let verified: VerifiedBlocks?
    /// The state of the read; `nil` in a writer.
    var ticket: ReadTicket?
    /// The positions of the rows of large commits; `nil` in a writer, whose changes may be undone.
    let feedIndex: FeedIndexCache?

    init(
        tables: Tables, path: String, header: StoreHeader, names: NameBook, verified: VerifiedBlocks?,
        feedIndex: FeedIndexCache?
    ) {
        self.tables = tables
        self.path = path
        lastCommit = header.commit
        state = TransactionState(header: header, names: names)
        self.verified = verified
        self.feedIndex = feedIndex
    }
}

extension ReadContext {
    var isOfWriter: Bool { verified == nil }

    /// Throws if the read has exceeded its time limit.
    func checkTime() throws(StoreError) {
        guard let ticket, ticket.isExpired else { return }
        throw StoreError(.readerExpired, path: path, "The read has lasted longer than the store's options allow")
    }
}

extension ReadContext: DerivedIDResolver {
    func derivedPrefix(type: UInt32, revision: UInt32) -> DerivedID.Prefix? {
        let key = UInt64(type) << 32 | UInt64(revision)
        if let prefix = state.names.prefixes[key] { return prefix }
        guard let type = state.names.types[type] ?? SampleType(catalogNumber: type),
            let name = state.names.revisions[revision]
        else {
            return nil
        }
        let prefix = DerivedID.Prefix(type: type, source: name.source.identity)
        state.names.prefixes[key] = prefix
        return prefix
    }

    func canonicalValue(_ value: Double, unit: UInt32, type: UInt32) -> Double {
        guard let unit = HealthUnit(number: unit) ?? state.names.units[unit],
            let type = state.names.types[type] ?? SampleType(catalogNumber: type)
        else {
            return value
        }
        return DerivedID.canonical(value, unit, of: type)
    }
}

/// The state of the store that a transaction sees. Every read goes through it. It cannot outlive its transaction.
public struct Snapshot: ~Escapable {
    let view: View
    let context: ReadContext

    @_lifetime(copy view)
    init(view: View, context: ReadContext) {
        self.view = view
        self.context = context
    }

    var tables: Tables { context.tables }
    var header: StoreHeader { context.state.header }
}

/// The name of a number is missing in both copies of the names.
struct MissingName: Error, CustomStringConvertible {
    var description: String { "neither of its two copies can be read" }
}

extension Snapshot {
    func damaged(_ what: String) -> StoreError {
        StoreError(.damaged, path: context.path, "The store is damaged: \(what)")
    }

    private func nameless(_ what: String) -> StoreError {
        StoreError(
            .damaged, path: context.path, "The store is damaged: \(what) has no name", underlying: MissingName())
    }

    /// Returns the type of a number.
    func type(_ number: UInt32) throws -> SampleType {
        if let type = SampleType(catalogNumber: number) ?? context.state.names.types[number] { return type }
        guard let bytes = try NameLookup.bytes(.type, number, view, tables) else { throw nameless("a type") }
        let type = try NameCoding.type(bytes)
        context.state.names.add(type: type, number)
        return type
    }

    /// Returns the number of a type; `nil` if the store has never met it.
    func number(of type: SampleType) throws -> UInt32? {
        let fixed = type.catalogNumber
        if let fixed, SampleType.firstCatalogNumbers.contains(fixed) { return fixed }
        if let number = context.state.names.typeNumbers[type] { return number }
        let bytes = NameCoding.encode(type: type)
        let given = try NameLookup.number(.type, bytes, header.hashKey, view, tables)
        guard let number = given ?? fixed else { return nil }
        context.state.names.add(type: type, number)
        return number
    }

    /// Returns the number of a type that a caller passed. Throws for an invalid identifier: otherwise a misspelled type
    /// would silently have no samples.
    func askedNumber(of type: SampleType) throws -> UInt32? {
        if let number = try number(of: type) { return number }
        try type.validate()
        return nil
    }

    func source(_ number: UInt32) throws -> SourceIdentity {
        if let source = context.state.names.sources[number] { return source }
        guard let bytes = try NameLookup.bytes(.source, number, view, tables) else {
            throw nameless("a source")
        }
        let source = try NameCoding.source(bytes)
        context.state.names.add(source: source, number)
        return source
    }

    func number(of source: SourceIdentity) throws -> UInt32? {
        if let number = context.state.names.sourceNumbers[source] { return number }
        guard let number = try NameLookup.number(of: source, header.hashKey, view, tables) else { return nil }
        context.state.names.add(source: source, number)
        return number
    }

    /// Returns the numbers of the sources that a filter matches: without a bundle, all that have the name or had it.
    func numbers(meantBy source: SourceIdentity) throws -> Set<UInt32> {
        guard source.bundle.isEmpty else { return Set(try number(of: source).map { [$0] } ?? []) }
        var numbers = Set(
            try NameLookup.numbers(.source, view, tables).filter { isSameText(try self.source($0).name, source.name) })
        for number in try NameLookup.numbers(.revision, view, tables) {
            let revision = try revision(number)
            if isSameText(revision.source.name, source.name) { numbers.insert(revision.sourceNumber) }
        }
        return numbers
    }

    func revision(_ number: UInt32) throws -> RevisionName {
        if let revision = context.state.names.revisions[number] { return revision }
        guard let bytes = try NameLookup.bytes(.revision, number, view, tables) else {
            throw nameless("a source's revision")
        }
        let fields = try NameCoding.revision(bytes)
        let identity = try source(fields.source)
        let name = RevisionName(
            sourceNumber: fields.source,
            source: Source(
                bundle: identity.bundle, name: fields.name ?? identity.name, version: fields.version,
                product: fields.product, system: fields.system))
        context.state.names.add(revision: name, number)
        return name
    }

    /// Returns the unit of a number.
    func unit(_ number: UInt32) throws -> HealthUnit {
        if let unit = HealthUnit(number: number) ?? context.state.names.units[number] { return unit }
        guard let bytes = try NameLookup.bytes(.unit, number, view, tables) else { throw nameless("a unit") }
        let unit = try NameCoding.unit(bytes)
        context.state.names.add(unit: unit, number)
        return unit
    }

    /// Returns the number of a unit; `nil` if the store has never met it.
    func number(of unit: HealthUnit) throws -> UInt32? {
        if unit.number > 0 { return unit.number }
        if let number = context.state.names.unitNumbers[unit] { return number }
        let bytes = NameCoding.encode(unit: unit)
        guard let number = try NameLookup.number(.unit, bytes, header.hashKey, view, tables) else { return nil }
        context.state.names.add(unit: unit, number)
        return number
    }

    func device(_ number: UInt32) throws -> Device? {
        if number == 0 { return nil }
        if let device = context.state.names.devices[number] { return device }
        guard let bytes = try NameLookup.bytes(.device, number, view, tables) else {
            throw nameless("a device")
        }
        let device = try NameCoding.device(bytes)
        context.state.names.add(device: device, number)
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
        if let common = try chunk.commonUnit() {
            _ = try unit(common)
        } else if chunk.rows > 0 {
            for number in try chunk.distinctUnits() { _ = try unit(number) }
        }
    }

    /// Converts a row to a sample.
    func sample(_ row: StoredRow, _ typeNumber: UInt32) throws -> Sample {
        let type = try type(typeNumber)
        let unit = try unit(row.unit)
        var sample = Sample(
            type, row.value, unit, from: Instant(nanoseconds: row.start), to: Instant(nanoseconds: row.end),
            source: try revision(row.revision).source, id: row.id,
            syncIdentifier: row.flags.contains(.syncIsID) ? row.id.description : row.rare?.syncIdentifier,
            version: row.version, origin: row.flags.contains(.imported) ? .imported : .authored,
            isUserEntered: row.flags.contains(.userEntered), device: try device(row.device))
        if let rare = row.rare { try rare.content.set(&sample) }
        sample.modified = row.clock
        sample.isShadowed = row.isShadowed
        sample.count = Int(row.count)
        sample.multiplicity = Int(row.multiplicity)
        return sample
    }
}
