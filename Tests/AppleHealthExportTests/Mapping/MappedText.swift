import HealthModel
import Testing

@testable import AppleHealthExport

/// What a map makes of a text, by kind.
struct MappedText {
    var records: [ImportedRecord] = []
    var quarantined: [Quarantined] = []
    var skipped = 0
    var items: [MappedItem] = []

    init(_ map: ImportMap, _ text: String, pieces: Int = .max) throws {
        try self.init(map, bytes: Array(text.utf8), pieces: pieces)
    }

    /// Reads bytes in pieces of a length.
    init(_ map: ImportMap, bytes: [UInt8], pieces: Int = .max) throws {
        var file = try MappedFile(map: map)
        var position = 0
        repeat {
            let end = min(bytes.count, position + min(pieces, bytes.count))
            try file.take(bytes[position..<end], isLast: end == bytes.count) { items.append($0) }
            position = end
        } while position < bytes.count
        for item in items {
            switch item {
            case .record(let record): records.append(record)
            case .quarantined(let part): quarantined.append(part)
            case .skipped: skipped += 1
            }
        }
    }

    /// Creates a map from JSON.
    static func map(_ json: String) throws(ImportMapError) -> ImportMap { try ImportMap(json: Array(json.utf8)) }

    /// Creates a map of weights in a column `kg`, with further fields.
    static func weights(
        _ fields: String = "", format: String = "iso8601", zone: String? = "UTC"
    ) throws(ImportMapError) -> ImportMap {
        let zone = zone.map { #""zone": "\#($0)","# } ?? ""
        return try map(
            #"""
            {\#(fields.isEmpty ? "" : fields + ",") \#(zone)
             "start": {"column": "time", "format": "\#(format)"}, "source": "Scale",
             "samples": [{"type": "bodyMass", "value": {"column": "kg"}, "unit": "kg"}]}
            """#)
    }
}

/// Returns the instant of an ISO text.
func at(_ text: String) -> Instant { Instant(text) ?? .distantPast }
