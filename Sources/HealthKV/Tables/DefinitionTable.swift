import ColumnFormat
import HealthModel
import LMDB

/// The definitions of types that apps have registered: one record of `meta`, which is there if any type is defined, and
/// a copy of it beside that of the header.
///
/// The header holds a mark of the record, so that every transaction knows whether its process has read it.
enum DefinitionTable {
    static let key: [UInt8] = Array("definitions".utf8)
    /// Far more types than an app defines.
    static let limit = 1_024

    // MARK: The record

    /// Returns the fields of the record; empty without definitions.
    static func fields(_ definitions: [String: TypeDefinition]) -> [UInt8] {
        if definitions.isEmpty { return [] }
        var record = RecordWriter()
        record.append(UInt32(definitions.count))
        for (_, definition) in definitions.sorted(by: { $0.key < $1.key }) {
            record.append(definition.identifier)
            record.append(definition.unit.symbol)
            record.append(definition.combination.number)
            record.append(definition.range == nil ? 0 : 1 as UInt8)
            record.append((definition.range?.lowerBound ?? 0).bitPattern)
            record.append((definition.range?.upperBound ?? 0).bitPattern)
            record.append(definition.name)
        }
        return record.bytes
    }

    /// Reads what ``fields(_:)`` returns.
    static func read(fields bytes: [UInt8]) throws(FormatError) -> [String: TypeDefinition] {
        if bytes.isEmpty { return [:] }
        let span = bytes.rawBytes
        var record = RecordReader(fields: span)
        let count = try record.read(UInt32.self)
        guard count <= limit else { throw FormatError(.invalid, "definitions of types") }
        var definitions: [String: TypeDefinition] = [:]
        for _ in 0..<count {
            let definition = try readOne(&record)
            definitions[definition.identifier] = definition
        }
        guard record.isAtEnd, definitions.count == Int(count) else {
            throw FormatError(.invalid, "definitions of types")
        }
        return definitions
    }

    private static func readOne(_ record: inout RecordReader) throws(FormatError) -> TypeDefinition {
        let identifier = try record.readText()
        let symbol = try record.readText()
        let number = try record.read(UInt8.self)
        let hasRange = try record.read(UInt8.self) != 0
        let lower = Double(bitPattern: try record.read(UInt64.self))
        let upper = Double(bitPattern: try record.read(UInt64.self))
        let name = try record.readOptionalText()
        // A later release may know further units and ways to combine.
        guard let unit = try? HealthUnit(symbol: symbol), let combination = TypeDefinition.Combination(number: number)
        else { throw FormatError(.unknown, "definition of a type") }
        guard !identifier.isEmpty, identifier.utf8.count <= TypeDefinition.textLimit, !hasRange || lower <= upper else {
            throw FormatError(.invalid, "definition of a type")
        }
        // The rules for new definitions do not count here: the catalog of a later release may have the type.
        return TypeDefinition(
            identifier, unit: unit, combining: combination, range: hasRange ? lower...upper : nil, name: name)
    }

    /// Returns the mark of definitions; 0 without any.
    static func mark(of fields: [UInt8]) -> UInt64 {
        fields.isEmpty ? 0 : max(1, Checksum.hash(fields, 0..<fields.count))
    }

    /// Reads the definitions that a header marks, from the record or, if that is lost, from its copy.
    static func load(_ header: StoreHeader, _ view: View, _ tables: OpenTables) throws -> [String: TypeDefinition] {
        if header.definitions == 0 { return [:] }
        var failure = FormatError(.truncated, "definitions of types")
        do throws(FormatError) {
            if let bytes = try stored(view, tables), mark(of: bytes) == header.definitions {
                return try read(fields: bytes)
            }
        } catch { failure = error }
        if let span = try view.get(tables[.upkeep], HeaderCopy.key), let copy = try? HeaderCopy.read(span),
            mark(of: copy.definitions) == header.definitions
        {
            return try read(fields: copy.definitions)
        }
        throw failure
    }

    private static func stored(_ view: View, _ tables: OpenTables) throws(FormatError) -> [UInt8]? {
        guard let span = try? view.get(tables[.meta], key) else { return nil }
        var record = try RecordReader(span, table: .meta, key: key)
        return try record.readBytes()
    }

    /// Returns definitions that can be read, whether or not a header marks them; those of the record first.
    static func found(_ view: View, _ tables: OpenTables) -> [String: TypeDefinition] {
        if let bytes = try? stored(view, tables), let types = try? read(fields: bytes), !types.isEmpty { return types }
        guard let span = try? view.get(tables[.upkeep], HeaderCopy.key), let copy = try? HeaderCopy.read(span) else {
            return [:]
        }
        return (try? read(fields: copy.definitions)) ?? [:]
    }

    /// Returns the value of the record.
    static func value(_ fields: [UInt8], stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(fields)
        return record.value(table: .meta, key: key, stamp: stamp)
    }

    // MARK: Using

    /// Writes changed definitions: at the end of the commit.
    static func writeChanged(in txn: inout WriteTransaction) throws {
        guard txn.state.changesDefinitions else { return }
        try txn.put(.meta, key, value(fields(txn.state.definitions), stamp: txn.stamp))
    }
}

/// The definitions of a store as a process has read them.
struct KnownDefinitions: Sendable {
    var mark: UInt64 = 0
    var types: [String: TypeDefinition] = [:]
}

extension TypeDefinition.Combination {
    /// The number on disk: never change one.
    fileprivate var number: UInt8 {
        switch self {
        case .sum: 1
        case .mean: 2
        case .latest: 3
        }
    }

    fileprivate init?(number: UInt8) {
        guard let found = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = found
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the types that apps have defined in this store, in the order of their identifiers.
    public func definitions() throws -> [TypeDefinition] {
        snapshot.context.state.definitions.values.sorted { $0.identifier < $1.identifier }
    }
}
