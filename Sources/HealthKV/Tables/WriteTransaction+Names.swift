import ColumnFormat
import HealthModel

extension WriteTransaction {
    /// Returns the number of a type; assigns one when the store first meets the type.
    mutating func number(of type: SampleType) throws -> UInt32 {
        if let number = try snapshot.number(of: type) { return number }
        let number = try addName(.type, NameCoding.encode(type: type))
        state.names.add(type: type, number)
        return number
    }

    mutating func number(of source: SourceIdentity) throws -> UInt32 {
        if let number = try snapshot.number(of: source) { return number }
        let number = try addName(.source, NameCoding.encode(source: source), key: NameCoding.key(of: source))
        state.names.add(source: source, number)
        return number
    }

    mutating func number(ofRevision source: Source) throws -> UInt32 {
        if let number = state.names.revisionNumbers[source] { return number }
        let sourceNumber = try number(of: source.identity)
        let bytes = NameCoding.encode(revisionOf: sourceNumber, source)
        let known = try NameLookup.number(.revision, bytes, state.header.hashKey, snapshot.view, context.tables)
        let number = try known ?? addName(.revision, bytes)
        state.names.add(revision: RevisionName(sourceNumber: sourceNumber, source: source), number)
        if known == nil { try notePriority(ofSource: sourceNumber, source) }
        return number
    }

    /// Returns the number of a unit; assigns one when the store first meets a unit without a fixed number.
    mutating func number(of unit: HealthUnit) throws -> UInt32 {
        if let number = try snapshot.number(of: unit) { return number }
        let number = try addName(.unit, NameCoding.encode(unit: unit))
        state.names.add(unit: unit, number)
        return number
    }

    mutating func number(of device: Device?) throws -> UInt32 {
        guard let device else { return 0 }
        if let number = state.names.deviceNumbers[device] { return number }
        let bytes = NameCoding.encode(device: device)
        let known = try NameLookup.number(.device, bytes, state.header.hashKey, snapshot.view, context.tables)
        let number = try known ?? addName(.device, bytes)
        state.names.add(device: device, number)
        return number
    }

    /// Stores a name in both tables under the next number of its kind.
    ///
    /// - Parameter name: the bytes to find the name by, if these are not the name itself.
    mutating func addName(_ kind: NameKind, _ bytes: [UInt8], key name: [UInt8]? = nil) throws -> UInt32 {
        let number = try NameLookup.nextNumber(kind, snapshot.view, context.tables)
        let key = NameTable.key(kind, number)
        try put(.names, key, NameTable.value(.names, key: key, number, bytes, commit: commit))
        let reverse = NameTable.reverseKey(kind, name ?? bytes, state.header.hashKey)
        try put(.namesReverse, reverse, NameTable.value(.namesReverse, key: reverse, number, bytes, commit: commit))
        return number
    }
}
