import ColumnFormat
import HealthModel
import LMDB
import Synchronization

/// The names that were looked up, by number. Names never change and are never removed, so the committed names that one
/// transaction learned serve all later ones. Opening a store loads none.
struct NameBook: Sendable {
    var types: [UInt32: SampleType] = [:]
    var typeNumbers: [SampleType: UInt32] = [:]
    var sources: [UInt32: SourceIdentity] = [:]
    var sourceNumbers: [SourceIdentity: UInt32] = [:]
    var revisions: [UInt32: RevisionName] = [:]
    var revisionNumbers: [Source: UInt32] = [:]
    var devices: [UInt32: Device] = [:]
    var deviceNumbers: [Device: UInt32] = [:]
    var units: [UInt32: HealthUnit] = [:]
    var unitNumbers: [HealthUnit: UInt32] = [:]
    var prefixes: [UInt64: DerivedID.Prefix] = [:]

    mutating func add(type: SampleType, _ number: UInt32) {
        types[number] = type
        typeNumbers[type] = number
    }

    mutating func add(source: SourceIdentity, _ number: UInt32) {
        sources[number] = source
        sourceNumbers[source] = number
    }

    mutating func add(revision: RevisionName, _ number: UInt32) {
        revisions[number] = revision
        revisionNumbers[revision.source] = number
    }

    mutating func add(unit: HealthUnit, _ number: UInt32) {
        units[number] = unit
        unitNumbers[unit] = number
    }

    mutating func add(device: Device, _ number: UInt32) {
        devices[number] = device
        deviceNumbers[device] = number
    }
}

/// Looks up a name in a view, in either of its two copies.
enum NameLookup {
    /// Returns the bytes of the name with a number. If the first copy is damaged, scans the second one for the number.
    static func bytes(_ kind: NameKind, _ number: UInt32, _ view: View, _ tables: Tables) throws -> [UInt8]? {
        let key = NameTable.key(kind, number)
        do {
            if let span = try view.get(tables[.names], key) { return try NameTable.read(span, .names, key: key).1 }
        } catch is FormatError {
            // The other copy is on another page.
        }
        return try reverseScan(kind, number, view, tables)
    }

    private static func reverseScan(
        _ kind: NameKind, _ number: UInt32, _ view: View, _ tables: Tables
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
        _ kind: NameKind, _ bytes: [UInt8], _ hashKey: KeyedHash, _ view: View, _ tables: Tables
    ) throws -> UInt32? {
        let key = NameTable.reverseKey(kind, bytes, hashKey)
        guard let span = try view.get(tables[.namesReverse], key) else { return nil }
        let entry = try NameTable.read(span, .namesReverse, key: key)
        guard entry.1 == bytes else { throw FormatError(.invalid, "name") }
        return entry.0
    }

    /// Returns the number of a source.
    static func number(
        of source: SourceIdentity, _ hashKey: KeyedHash, _ view: View, _ tables: Tables
    ) throws -> UInt32? {
        // A store that was written before sources were found by bundle alone has them under bundle and name.
        for bytes in [NameCoding.key(of: source), NameCoding.encode(source: source)] {
            let key = NameTable.reverseKey(.source, bytes, hashKey)
            guard let span = try view.get(tables[.namesReverse], key) else { continue }
            let entry = try NameTable.read(span, .namesReverse, key: key)
            guard try NameCoding.source(entry.1) == source else { throw FormatError(.invalid, "name") }
            return entry.0
        }
        return nil
    }

    /// Returns the numbers of a kind, ascending.
    static func numbers(_ kind: NameKind, _ view: View, _ tables: Tables) throws -> [UInt32] {
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
}

extension NameLookup {
    /// Returns the number for the next new name of a kind.
    static func nextNumber(_ kind: NameKind, _ view: View, _ tables: Tables) throws -> UInt32 {
        var cursor = try view.cursor(tables[.names])
        guard try cursor.seekAtOrBefore(NameTable.key(kind, .max)) else { return kind.firstNumber }
        let key = cursor.key.copied()
        guard key.count == 5, key[0] == kind.rawValue else { return kind.firstNumber }
        return key[1...].reduce(0) { $0 << 8 | UInt32($1) } + 1
    }
}

extension NameBook {
    /// The number of known names. A larger book replaces a smaller one.
    var size: Int { types.count + sources.count + revisions.count + devices.count + units.count + prefixes.count }
}
