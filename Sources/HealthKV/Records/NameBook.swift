import ColumnFormat
import HealthModel

/// The names that were looked up, by number. Names never change and are never removed, so the committed names that one
/// transaction learned serve all later ones. Opening a store loads none.
struct NameBook: Sendable {
    var types: [UInt32: SampleType] = [:]
    var typeNumbers: [SampleType: UInt32] = [:]
    var sources: [UInt32: SourceIdentity] = [:]
    var sourceNumbers: [SourceIdentity: UInt32] = [:]
    var revisions: [UInt32: RevisionName] = [:]
    var revisionNumbers: [Source: UInt32] = [:]
    /// Some revision of a source with a bundle and a name, without the other fields.
    var anyRevisions: [Source: UInt32] = [:]
    var devices: [UInt32: Device] = [:]
    var deviceNumbers: [Device: UInt32] = [:]
    var units: [UInt32: HealthUnit] = [:]
    var unitNumbers: [HealthUnit: UInt32] = [:]
    var prefixes: [UInt64: DerivedID.Prefix] = [:]
    /// The prefix and the unit that were asked for last: rows of a chunk mostly share them.
    var lastPrefix: (key: UInt64, prefix: DerivedID.Prefix)?
    var lastUnit: (key: UInt64, unit: DerivedUnit)?

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

extension NameBook {
    /// The number of known names. A larger book replaces a smaller one.
    var size: Int { types.count + sources.count + revisions.count + devices.count + units.count + prefixes.count }
}
