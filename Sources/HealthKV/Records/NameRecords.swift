import ColumnFormat
import HealthModel

/// The kinds of names that numbers in chunks refer to. Kinds are embedded on disk: never change or reuse one.
enum NameKind: UInt8, Sendable, CaseIterable {
    case type = 1
    case source = 2
    case revision = 3
    case device = 4
    case unit = 5

    /// Numbers below this one are fixed by the catalog.
    var firstNumber: UInt32 { self == .type || self == .unit ? 1 << 16 : 1 }
}

/// A revision of a source, to which a row refers by number.
struct RevisionName: Sendable, Hashable {
    var sourceNumber: UInt32
    var source: Source
}

/// Converts names to bytes and back. Equal names have equal bytes.
enum NameCoding {
    static func encode(type: SampleType) -> [UInt8] {
        var record = RecordWriter()
        record.append(type.identifier)
        return record.bytes
    }

    /// Returns the bytes by which a source's number is found. The name counts only if the source has no bundle.
    static func key(of source: SourceIdentity) -> [UInt8] {
        encode(source: SourceIdentity(bundle: source.bundle, name: source.bundle.isEmpty ? source.name : ""))
    }

    static func encode(source: SourceIdentity) -> [UInt8] {
        var record = RecordWriter()
        record.append(source.bundle)
        record.append(source.name)
        return record.bytes
    }

    static func encode(revisionOf number: UInt32, _ source: Source) -> [UInt8] {
        var record = RecordWriter()
        record.append(number)
        record.append(source.version)
        record.append(source.product)
        record.append(source.system)
        if !source.bundle.isEmpty { record.append(source.name) }
        return record.bytes
    }

    static func encode(unit: HealthUnit) -> [UInt8] {
        var record = RecordWriter()
        record.append(unit.symbol)
        return record.bytes
    }

    static func encode(device: Device) -> [UInt8] {
        var record = RecordWriter()
        for field in device.fields { record.append(field) }
        return record.bytes
    }

    static func type(_ bytes: [UInt8]) throws(FormatError) -> SampleType {
        var record = RecordReader(fields: bytes.rawBytes)
        return SampleType(try record.readText())
    }

    static func unit(_ bytes: [UInt8]) throws(FormatError) -> HealthUnit {
        var record = RecordReader(fields: bytes.rawBytes)
        let symbol = try record.readText()
        do { return try HealthUnit(symbol: symbol) } catch { throw FormatError(.unknown, "unit") }
    }

    static func source(_ bytes: [UInt8]) throws(FormatError) -> SourceIdentity {
        var record = RecordReader(fields: bytes.rawBytes)
        let bundle = try record.readText()
        return SourceIdentity(bundle: bundle, name: try record.readText())
    }

    static func revision(
        _ bytes: [UInt8]
    ) throws(FormatError) -> (source: UInt32, version: String?, product: String?, system: String?, name: String?) {
        var record = RecordReader(fields: bytes.rawBytes)
        return (
            try record.read(UInt32.self), try record.readOptionalText(), try record.readOptionalText(),
            try record.readOptionalText(), record.isAtEnd ? nil : try record.readText()
        )
    }

    static func device(_ bytes: [UInt8]) throws(FormatError) -> Device {
        var record = RecordReader(fields: bytes.rawBytes)
        var fields: [String?] = []
        for _ in 0..<8 { fields.append(try record.readOptionalText()) }
        return Device(fields: fields)
    }
}

/// The name of a number is missing in both copies of the names.
struct MissingName: Error, CustomStringConvertible {
    var description: String { "neither of its two copies can be read" }
}
