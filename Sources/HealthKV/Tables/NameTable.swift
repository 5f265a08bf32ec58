import ColumnFormat
import HealthModel
import LMDB

/// The names of types, sources, revisions, units and devices, and the numbers that records use in place of them.
enum NameTable {
    static func key(_ kind: NameKind, _ number: UInt32) -> [UInt8] {
        var writer = ByteWriter(reserving: 5)
        writer.append(kind.rawValue)
        writer.appendBigEndian(number)
        return writer.bytes
    }

    /// Returns the key of the reverse table: a keyed hash of the name, 128 bits wide.
    static func reverseKey(_ kind: NameKind, _ bytes: [UInt8], _ hashKey: KeyedHash) -> [UInt8] {
        let words = IdentityHash.words(of: bytes, hashKey)
        var writer = ByteWriter(reserving: 17)
        writer.append(kind.rawValue)
        writer.appendBigEndian(hashKey.hash(words.0, words.1, 11))
        writer.appendBigEndian(hashKey.hash(words.0, words.1, 12))
        return writer.bytes
    }

    /// Both tables hold the same fields: the number and the name.
    static func value(_ table: TableCode, key: [UInt8], _ number: UInt32, _ bytes: [UInt8], stamp: CommitStamp)
        -> [UInt8]
    {
        var record = RecordWriter()
        record.append(number)
        record.append(bytes)
        return record.value(table: table, key: key, stamp: stamp)
    }

    static func read(_ span: RawSpan, _ table: TableCode, key: [UInt8]) throws(FormatError) -> (UInt32, [UInt8]) {
        var record = try RecordReader(span, table: table, key: key)
        return (try record.read(UInt32.self), try record.readBytes())
    }

    /// Returns the bytes of the name with a number. If the first copy is damaged, scans the second one for the number.
    static func bytes(_ kind: NameKind, _ number: UInt32, _ view: View, _ tables: OpenTables) throws -> [UInt8]? {
        let key = NameTable.key(kind, number)
        do {
            if let span = try view.get(tables[.names], key) { return try NameTable.read(span, .names, key: key).1 }
        } catch is FormatError {
            // The other copy is on another page.
        }
        return try reverseScan(kind, number, view, tables)
    }

    private static func reverseScan(
        _ kind: NameKind, _ number: UInt32, _ view: View, _ tables: OpenTables
    ) throws -> [UInt8]? {
        var cursor = try view.cursor(tables[.namesReverse])
        var found = try cursor.seek([kind.rawValue])
        while found, cursor.key.byteCount == 17, cursor.key.copied()[0] == kind.rawValue {
            if let entry = try? NameTable.read(cursor.value, .namesReverse, key: cursor.key.copied()), entry.0 == number
            {
                return entry.1
            }
            found = try cursor.next()
        }
        return nil
    }

    /// Returns the number of a name.
    static func number(
        _ kind: NameKind, _ bytes: [UInt8], _ hashKey: KeyedHash, _ view: View, _ tables: OpenTables
    ) throws -> UInt32? {
        let key = NameTable.reverseKey(kind, bytes, hashKey)
        guard let span = try view.get(tables[.namesReverse], key) else { return nil }
        let entry = try NameTable.read(span, .namesReverse, key: key)
        guard entry.1 == bytes else { throw FormatError(.invalid, "name") }
        return entry.0
    }

    /// Returns the number of a source, and the source as it was first met: a bundle alone identifies it, and its name
    /// may be another.
    private static func entry(
        of source: SourceIdentity, in snapshot: Snapshot
    ) throws -> (number: UInt32, source: SourceIdentity)? {
        let key = NameTable.reverseKey(.source, NameCoding.key(of: source), snapshot.header.hashKey)
        guard let span = try snapshot.view.get(snapshot.tables[.namesReverse], key) else { return nil }
        let entry = try NameTable.read(span, .namesReverse, key: key)
        let stored = try NameCoding.source(entry.1)
        guard stored == source else { throw FormatError(.invalid, "name") }
        return (entry.0, stored)
    }

    /// Returns the numbers of a kind, ascending.
    static func numbers(_ kind: NameKind, _ view: View, _ tables: OpenTables) throws -> [UInt32] {
        var numbers: [UInt32] = []
        var cursor = try view.cursor(tables[.names])
        var found = try cursor.seek([kind.rawValue])
        while found, cursor.key.byteCount == 5 {
            let bytes = cursor.key.copied()
            guard bytes[0] == kind.rawValue else { break }
            numbers.append(bytes[1...4].reduce(0) { $0 << 8 | UInt32($1) })
            found = try cursor.next()
        }
        return numbers
    }

    /// Returns the number for the next new name of a kind.
    static func nextNumber(_ kind: NameKind, _ view: View, _ tables: OpenTables) throws -> UInt32 {
        var cursor = try view.cursor(tables[.names])
        guard try cursor.seekAtOrBefore(NameTable.key(kind, .max)) else { return kind.firstNumber }
        let key = cursor.key.copied()
        guard key.count == 5, key[0] == kind.rawValue else { return kind.firstNumber }
        let last = key[1...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard last < .max else { throw FormatError(.invalid, "number of a name") }
        return last + 1
    }

    /// Returns the number of a type; assigns one when the store first meets the type.
    static func number(of type: SampleType, in txn: inout WriteTransaction) throws -> UInt32 {
        if let number = try NameTable.number(of: type, in: txn.snapshot) { return number }
        let number = try addName(.type, NameCoding.encode(type: type), in: &txn)
        txn.state.names.add(type: type, number)
        return number
    }

    static func number(of source: SourceIdentity, in txn: inout WriteTransaction) throws -> UInt32 {
        if let number = try NameTable.number(of: source, in: txn.snapshot) { return number }
        let number = try addName(.source, NameCoding.encode(source: source), key: NameCoding.key(of: source), in: &txn)
        txn.state.names.add(source: source, number)
        return number
    }

    static func number(ofRevision source: Source, in txn: inout WriteTransaction) throws -> UInt32 {
        if let number = txn.state.names.revisionNumbers[source] { return number }
        let sourceNumber = try NameTable.number(of: source.identity, in: &txn)
        let bytes = NameCoding.encode(revisionOf: sourceNumber, source)
        let known = try NameTable.number(
            .revision, bytes, txn.state.header.hashKey, txn.snapshot.view, txn.context.tables)
        let number = try known ?? addName(.revision, bytes, in: &txn)
        txn.state.names.add(revision: RevisionName(sourceNumber: sourceNumber, source: source), number)
        if known == nil { try PriorityTable.notePriority(ofSource: sourceNumber, source, in: &txn) }
        return number
    }

    /// Returns the number of some revision of a source with this name; assigns one if there is none.
    static func number(ofAnyRevision source: SourceIdentity, in txn: inout WriteTransaction) throws -> UInt32 {
        let named = Source(bundle: source.bundle, name: source.name)
        if let number = txn.state.names.anyRevisions[named] { return number }
        let number =
            try NameTable.numbers(.revision, txn.snapshot.view, txn.context.tables).first {
                let known = try NameTable.revision($0, in: txn.snapshot).source
                return known.identity == source && known.name == source.name
            } ?? NameTable.number(ofRevision: named, in: &txn)
        txn.state.names.anyRevisions[named] = number
        return number
    }

    /// Returns the number of a unit; assigns one when the store first meets a unit without a fixed number.
    static func number(of unit: HealthUnit, in txn: inout WriteTransaction) throws -> UInt32 {
        if let number = try NameTable.number(of: unit, in: txn.snapshot) { return number }
        let number = try addName(.unit, NameCoding.encode(unit: unit), in: &txn)
        txn.state.names.add(unit: unit, number)
        return number
    }

    static func number(of device: Device?, in txn: inout WriteTransaction) throws -> UInt32 {
        guard let device else { return 0 }
        if let number = txn.state.names.deviceNumbers[device] { return number }
        let bytes = NameCoding.encode(device: device)
        let known = try NameTable.number(
            .device, bytes, txn.state.header.hashKey, txn.snapshot.view, txn.context.tables)
        let number = try known ?? addName(.device, bytes, in: &txn)
        txn.state.names.add(device: device, number)
        return number
    }

    /// Stores a name in both tables under the next number of its kind.
    ///
    /// - Parameter name: the bytes to find the name by, if these are not the name itself.
    static func addName(_ kind: NameKind, _ bytes: [UInt8], key name: [UInt8]? = nil, in txn: inout WriteTransaction)
        throws -> UInt32
    {
        let number = try NameTable.nextNumber(kind, txn.snapshot.view, txn.context.tables)
        try putName(kind, number, bytes, key: name, in: &txn)
        return number
    }

    /// Stores the name of a number in both tables.
    static func putName(
        _ kind: NameKind, _ number: UInt32, _ bytes: [UInt8], key name: [UInt8]? = nil, in txn: inout WriteTransaction
    ) throws {
        let key = NameTable.key(kind, number)
        try txn.put(.names, key, NameTable.value(.names, key: key, number, bytes, stamp: txn.stamp))
        let reverse = NameTable.reverseKey(kind, name ?? bytes, txn.state.header.hashKey)
        try txn.put(
            .namesReverse, reverse, NameTable.value(.namesReverse, key: reverse, number, bytes, stamp: txn.stamp))
    }

    private static func nameless(_ what: String, in snapshot: Snapshot) -> StoreError {
        StoreError(
            .damaged, path: snapshot.context.path, "The store is damaged: \(what) has no name",
            underlying: MissingName())
    }

    /// Returns the type of a number.
    static func type(_ number: UInt32, in snapshot: Snapshot) throws -> SampleType {
        if let type = SampleType(catalogNumber: number) ?? snapshot.context.state.names.types[number] { return type }
        guard let bytes = try NameTable.bytes(.type, number, snapshot.view, snapshot.tables) else {
            throw nameless("a type", in: snapshot)
        }
        let type = try NameCoding.type(bytes)
        snapshot.context.state.names.add(type: type, number)
        return type
    }

    /// Returns the number of a type; `nil` if the store has never met it.
    static func number(of type: SampleType, in snapshot: Snapshot) throws -> UInt32? {
        let fixed = type.catalogNumber
        if let fixed, SampleType.firstCatalogNumbers.contains(fixed) { return fixed }
        if let number = snapshot.context.state.names.typeNumbers[type] { return number }
        let bytes = NameCoding.encode(type: type)
        let given = try NameTable.number(.type, bytes, snapshot.header.hashKey, snapshot.view, snapshot.tables)
        guard let number = given ?? fixed else { return nil }
        snapshot.context.state.names.add(type: type, number)
        return number
    }

    /// Returns the number of a type that a caller passed. Throws for an invalid identifier: otherwise a misspelled type
    /// would silently have no samples.
    static func askedNumber(of type: SampleType, in snapshot: Snapshot) throws -> UInt32? {
        if let number = try NameTable.number(of: type, in: snapshot) { return number }
        // Also inside of a write, where an error of the model is otherwise about what was to be stored.
        do { try type.validate() } catch { throw StoreError.wrapRead(error, path: snapshot.context.path) }
        return nil
    }

    static func source(_ number: UInt32, in snapshot: Snapshot) throws -> SourceIdentity {
        if let source = snapshot.context.state.names.sources[number] { return source }
        guard let bytes = try NameTable.bytes(.source, number, snapshot.view, snapshot.tables) else {
            throw nameless("a source", in: snapshot)
        }
        let source = try NameCoding.source(bytes)
        snapshot.context.state.names.add(source: source, number)
        return source
    }

    static func number(of source: SourceIdentity, in snapshot: Snapshot) throws -> UInt32? {
        if let number = snapshot.context.state.names.sourceNumbers[source] { return number }
        guard let found = try NameTable.entry(of: source, in: snapshot) else { return nil }
        // Not the name that the caller knows: the whole process would take it for the source's, and an order of sources
        // that names them would have another meaning.
        snapshot.context.state.names.add(source: found.source, found.number)
        return found.number
    }

    /// Returns the numbers of the sources that a filter matches: without a bundle, all that have the name or had it.
    static func numbers(meantBy source: SourceIdentity, in snapshot: Snapshot) throws -> Set<UInt32> {
        guard source.bundle.isEmpty else {
            return Set(try NameTable.number(of: source, in: snapshot).map { [$0] } ?? [])
        }
        // A commit of any type may give a source another name.
        snapshot.trace?.seesEverything()
        var numbers = Set(
            try NameTable.numbers(.source, snapshot.view, snapshot.tables).filter {
                isSameText(try NameTable.source($0, in: snapshot).name, source.name)
            })
        for number in try NameTable.numbers(.revision, snapshot.view, snapshot.tables) {
            let revision = try NameTable.revision(number, in: snapshot)
            if isSameText(revision.source.name, source.name) { numbers.insert(revision.sourceNumber) }
        }
        return numbers
    }

    static func revision(_ number: UInt32, in snapshot: Snapshot) throws -> RevisionName {
        if let revision = snapshot.context.state.names.revisions[number] { return revision }
        guard let bytes = try NameTable.bytes(.revision, number, snapshot.view, snapshot.tables) else {
            throw nameless("a source's revision", in: snapshot)
        }
        let fields = try NameCoding.revision(bytes)
        let identity = try source(fields.source, in: snapshot)
        let name = RevisionName(
            sourceNumber: fields.source,
            source: Source(
                bundle: identity.bundle, name: fields.name ?? identity.name, version: fields.version,
                product: fields.product, system: fields.system))
        snapshot.context.state.names.add(revision: name, number)
        return name
    }

    /// Returns the unit of a number.
    static func unit(_ number: UInt32, in snapshot: Snapshot) throws -> HealthUnit {
        if let unit = HealthUnit(number: number) ?? snapshot.context.state.names.units[number] { return unit }
        guard let bytes = try NameTable.bytes(.unit, number, snapshot.view, snapshot.tables) else {
            throw nameless("a unit", in: snapshot)
        }
        let unit = try NameCoding.unit(bytes)
        snapshot.context.state.names.add(unit: unit, number)
        return unit
    }

    /// Returns the number of a unit; `nil` if the store has never met it.
    static func number(of unit: HealthUnit, in snapshot: Snapshot) throws -> UInt32? {
        if unit.number > 0 { return unit.number }
        if let number = snapshot.context.state.names.unitNumbers[unit] { return number }
        let bytes = NameCoding.encode(unit: unit)
        guard let number = try NameTable.number(.unit, bytes, snapshot.header.hashKey, snapshot.view, snapshot.tables)
        else { return nil }
        snapshot.context.state.names.add(unit: unit, number)
        return number
    }

    static func device(_ number: UInt32, in snapshot: Snapshot) throws -> Device? {
        if number == 0 { return nil }
        if let device = snapshot.context.state.names.devices[number] { return device }
        guard let bytes = try NameTable.bytes(.device, number, snapshot.view, snapshot.tables) else {
            throw nameless("a device", in: snapshot)
        }
        let device = try NameCoding.device(bytes)
        snapshot.context.state.names.add(device: device, number)
        return device
    }

    /// Looks up every name that the rows of a chunk use, so that decoding needs no table.
    static func loadNames(of chunk: borrowing HotChunk, in snapshot: Snapshot) throws {
        _ = try type(chunk.key.lane.type, in: snapshot)
        if let common = try chunk.commonRevision() {
            _ = try revision(common, in: snapshot)
        } else if chunk.rows > 0 {
            for number in try chunk.distinctRevisions() { _ = try revision(number, in: snapshot) }
        }
        if let common = try chunk.commonUnit() {
            _ = try unit(common, in: snapshot)
        } else if chunk.rows > 0 {
            for number in try chunk.distinctUnits() { _ = try unit(number, in: snapshot) }
        }
    }

    /// Converts a row to a sample.
    static func sample(_ row: StoredRow, _ typeNumber: UInt32, in snapshot: Snapshot) throws -> Sample {
        let type = try NameTable.type(typeNumber, in: snapshot)
        let unit = try NameTable.unit(row.unit, in: snapshot)
        var sample = Sample(
            type, row.value, unit, from: Instant(nanoseconds: row.start), to: Instant(nanoseconds: row.end),
            source: try revision(row.revision, in: snapshot).source, id: row.id,
            syncIdentifier: row.flags.contains(.syncIsID) ? row.id.description : row.rare?.syncIdentifier,
            version: row.version, origin: row.flags.contains(.imported) ? .imported : .authored,
            isUserEntered: row.flags.contains(.userEntered), device: try device(row.device, in: snapshot))
        if let rare = row.rare { try rare.content.set(&sample) }
        sample.modified = row.clock
        sample.isShadowed = row.isShadowed
        sample.count = Int(row.count)
        sample.multiplicity = Int(row.multiplicity)
        return sample
    }
}
