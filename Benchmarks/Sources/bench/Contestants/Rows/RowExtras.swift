import Foundation
import HealthKV

/// The rare fields of a row, after its fixed part: a byte of flags for the present fields, then these fields in order.
enum RowExtras {
    private static let sync: UInt8 = 1
    private static let version: UInt8 = 2
    private static let group: UInt8 = 4
    private static let rest: UInt8 = 8

    /// The rarest fields, in the simplest form.
    private struct Rest: Codable {
        var count: Int
        var multiplicity: Int
        var device: Device?
        var metadata: [String: MetadataValue]
    }

    /// The bytes of all fields that differ from their defaults; empty if none does. Without `withSync`, omits the sync
    /// identifier, which some contestants keep in a column.
    static func bytes(_ extras: SampleBatch.Extras?, withSync: Bool = true) throws -> [UInt8] {
        guard var extras else { return [] }
        if !withSync {
            extras.syncIdentifier = nil
            if extras == SampleBatch.Extras() { return [] }
        }
        var bytes: [UInt8] = [0]
        if let text = extras.syncIdentifier { append(text, sync, &bytes) }
        if extras.version != 0 {
            bytes[0] |= version
            for shift in stride(from: 0, to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: extras.version >> Int64(shift)))
            }
        }
        if let text = extras.group { append(text, group, &bytes) }
        if extras.count != 1 || extras.multiplicity != 0 || extras.device != nil || !extras.metadata.isEmpty {
            bytes[0] |= rest
            let encoder = JSONEncoder()
            // Equal fields must give equal bytes, because known rows are compared by bytes.
            encoder.outputFormatting = .sortedKeys
            bytes += try encoder.encode(
                Rest(
                    count: extras.count, multiplicity: extras.multiplicity, device: extras.device,
                    metadata: extras.metadata))
        }
        return bytes
    }

    static func apply(_ bytes: [UInt8], to sample: inout Sample) throws {
        var position = 1
        if bytes[0] & sync != 0 { sample.syncIdentifier = text(bytes, &position) }
        if bytes[0] & version != 0 {
            var number: UInt64 = 0
            for byte in bytes[position..<position + 8].reversed() { number = number << 8 | UInt64(byte) }
            sample.version = Int64(bitPattern: number)
            position += 8
        }
        if bytes[0] & group != 0 { sample.group = text(bytes, &position) }
        guard bytes[0] & rest != 0 else { return }
        let rest = try JSONDecoder().decode(Rest.self, from: Data(bytes[position...]))
        sample.count = rest.count
        sample.multiplicity = rest.multiplicity
        sample.device = rest.device
        sample.metadata = rest.metadata
    }

    private static func append(_ text: String, _ flag: UInt8, _ bytes: inout [UInt8]) {
        bytes[0] |= flag
        let count = text.utf8.count
        bytes += [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8)]
        bytes += text.utf8
    }

    private static func text(_ bytes: [UInt8], _ position: inout Int) -> String {
        let from = position + 2
        position = from + Int(bytes[position]) + Int(bytes[position + 1]) << 8
        return String(decoding: bytes[from..<position], as: UTF8.self)
    }
}
