import HealthModel

/// Encodes metadata into bytes in the order of its keys, so that equal metadata has equal bytes.
public enum MetadataCoding {
    /// Returns `nil` for empty metadata.
    public static func encode(_ metadata: [String: MetadataValue]) -> [UInt8]? {
        if metadata.isEmpty { return nil }
        var writer = RecordWriter()
        write(metadata, to: &writer)
        return writer.bytes
    }

    static func write(_ metadata: [String: MetadataValue], to writer: inout RecordWriter) {
        writer.append(UInt8(metadata.count))
        for key in metadata.keys.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            writer.append(key)
            switch metadata[key]! {
            case .string(let text):
                writer.append(1 as UInt8)
                writer.append(text)
            case .number(let number):
                writer.append(2 as UInt8)
                writer.append(number.bitPattern)
            case .bool(let flag):
                writer.append(3 as UInt8)
                writer.append(flag ? 1 : 0 as UInt8)
            case .date(let date):
                writer.append(4 as UInt8)
                writer.append(date.nanoseconds)
            case .quantity(let quantity) where quantity.unit.number > 0:
                writer.append(5 as UInt8)
                writer.append(quantity.value.bitPattern)
                writer.append(quantity.unit.number)
            case .quantity(let quantity):
                writer.append(6 as UInt8)
                writer.append(quantity.value.bitPattern)
                writer.append(quantity.unit.symbol)
            }
        }
    }

    public static func decode(_ bytes: [UInt8]) throws(FormatError) -> [String: MetadataValue] {
        var reader = RecordReader(fields: bytes.rawBytes)
        return try read(&reader)
    }

    static func read(_ reader: inout RecordReader) throws(FormatError) -> [String: MetadataValue] {
        var metadata: [String: MetadataValue] = [:]
        for _ in 0..<(try reader.read(UInt8.self)) {
            let key = try reader.readText()
            switch try reader.read(UInt8.self) {
            case 1: metadata[key] = .string(try reader.readText())
            case 2: metadata[key] = .number(Double(bitPattern: try reader.read(UInt64.self)))
            case 3: metadata[key] = .bool(try reader.read(UInt8.self) != 0)
            case 4: metadata[key] = .date(Instant(nanoseconds: try reader.read(Int64.self)))
            case 5:
                let value = Double(bitPattern: try reader.read(UInt64.self))
                guard let unit = HealthUnit(number: try reader.read(UInt32.self)) else {
                    throw FormatError(.unknown, "unit")
                }
                metadata[key] = .quantity(Quantity(value, unit))
            case 6:
                let value = Double(bitPattern: try reader.read(UInt64.self))
                guard let unit = try? HealthUnit(symbol: try reader.readText()) else {
                    throw FormatError(.unknown, "unit")
                }
                metadata[key] = .quantity(Quantity(value, unit))
            default: throw FormatError(.unknown, "metadata kind")
            }
        }
        return metadata
    }
}
