import HealthModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes samples as rows of values separated by commas (RFC 4180).
struct SampleTable {
    static let head = Array(
        ("id,type,start,end,value,unit,source,bundle,device,user_entered,sync_identifier,version,group,metadata\r\n")
            .utf8)
    private var bytes: [UInt8] = []
    private(set) var report = HealthExportReport()

    var isFull: Bool { bytes.count > 1 << 18 }

    mutating func take() -> [UInt8] {
        let full = bytes
        bytes.removeAll(keepingCapacity: true)
        return full
    }

    mutating func append(_ sample: Sample) throws {
        var metadata = ""
        if !sample.metadata.isEmpty {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            metadata = String(decoding: try encoder.encode(sample.metadata), as: UTF8.self)
        }
        let fields = [
            sample.id.description, sample.type.identifier, sample.start.description,
            sample.isOpenEnded ? "" : sample.end.description, ExportLine.decimal(sample.quantity.value),
            sample.quantity.unit.symbol, sample.source.name, sample.source.bundle, sample.device?.name ?? "",
            sample.isUserEntered ? "1" : "0", sample.syncIdentifier ?? "", "\(sample.version)", sample.group ?? "",
            metadata,
        ]
        let before = bytes.count
        for (index, field) in fields.enumerated() {
            if index > 0 { bytes.append(0x2C) }
            append(field)
        }
        bytes.append(0x0D)
        bytes.append(0x0A)
        report.samples += 1
        report.bytes += bytes.count - before
    }

    private mutating func append(_ field: String) {
        // A leading space or formula sign is kept as it is: the file is for programs.
        guard field.utf8.contains(where: { $0 == 0x2C || $0 == 0x22 || $0 == 0x0A || $0 == 0x0D }) else {
            bytes += field.utf8
            return
        }
        bytes.append(0x22)
        for byte in field.utf8 {
            if byte == 0x22 { bytes.append(0x22) }
            bytes.append(byte)
        }
        bytes.append(0x22)
    }
}
