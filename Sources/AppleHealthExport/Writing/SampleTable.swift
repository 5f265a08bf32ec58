import HealthModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes samples as rows of values separated by commas (RFC 4180).
struct SampleTable {
    static let head = CSV.line([
        "id", "type", "start", "end", "value", "unit", "source", "bundle", "device", "user_entered",
        "sync_identifier", "version", "group", "metadata",
    ])
    private var bytes: [UInt8] = []
    private(set) var report = SampleTable.empty

    private static var empty: HealthExportReport {
        var report = HealthExportReport()
        report.bytes = head.count
        return report
    }

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
            sample.end.description, ExportLine.decimal(sample.quantity.value),
            sample.quantity.unit.symbol, sample.source.name, sample.source.bundle, sample.device?.name ?? "",
            sample.isUserEntered ? "1" : "0", sample.syncIdentifier ?? "", "\(sample.version)", sample.group ?? "",
            metadata,
        ]
        let line = CSV.line(fields)
        bytes += line
        report.samples += 1
        report.bytes += line.count
        if sample.route != nil {
            report.routesLost += 1
        } else if !SampleTable.isWhole(sample) {
            report.detailsLost += 1
        }
    }

    /// Whether the columns have a place for everything that a sample has, apart from its clock.
    private static func isWhole(_ sample: Sample) -> Bool {
        let source = sample.source
        guard sample.timeZone == nil, sample.workout == nil, sample.local.isEmpty,
            sample.count == 1,
            sample.original == nil, sample.reversion == nil, source.version == nil, source.product == nil,
            source.system == nil
        else { return false }
        return sample.device?.fields.dropFirst().allSatisfy { $0 == nil } ?? true
    }
}
