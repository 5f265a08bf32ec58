import HealthKV

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes a store as an export of Apple Health: the same samples give the same bytes.
///
/// ```swift
/// let report = try HealthExport().write(store, to: "export.zip")
/// print(report.samples, report.fractionsLost)
/// ```
///
/// Apple's format has whole seconds and no ids. With ``isExact`` each sample also carries everything that the store
/// knows of it, as metadata that ``HealthImport`` takes back.
public struct HealthExport: Sendable {
    /// The types to write; `nil` for all.
    public var types: Set<SampleType>?
    /// The names of the sources to write; `nil` for all.
    public var sources: Set<String>?
    /// Writes only samples that start in this range.
    public var range = TimeRange.all
    /// Whether an import of the file gives the same store again.
    public var isExact = false
    /// The offset from universal time of all dates, in seconds.
    public var secondsFromGMT = 0

    /// Creates an export of everything.
    public init() {}

    /// Writes to a file: an archive if its name ends in `.zip`, a table of values separated by commas if it ends in
    /// `.csv`, otherwise XML; `-` is the standard output. The file appears whole, or not at all; an earlier one of the
    /// name is replaced.
    ///
    /// - Parameter progress: told after each sample how many were written. The export ends with the error that it
    ///   throws.
    @discardableResult
    public func write(
        _ store: SampleStore, to path: String, progress: (Int) throws -> Void = { _ in }
    ) throws -> HealthExportReport {
        if path == "-" { return try write(store, named: path, at: path, progress) }
        let partial = path + ".partial"
        do {
            let report = try write(store, named: path.lowercased(), at: partial, progress)
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: partial, toPath: path)
            return report
        } catch {
            try? FileManager.default.removeItem(atPath: partial)
            throw error
        }
    }

    private func write(
        _ store: SampleStore, named name: String, at path: String, _ progress: (Int) throws -> Void
    ) throws -> HealthExportReport {
        if name.hasSuffix(".csv") {
            let sink = try FileSink(path)
            let report = try store.blockingRead { try writeTable($0, to: sink, progress) }
            try sink.finish()
            return report
        }
        var sink: any ByteSink =
            try name.hasSuffix(".zip")
            ? ZipSink(path, entry: "apple_health_export/export.xml") : FileSink(path)
        let report = try store.blockingRead { try write($0, to: &sink, progress) }
        try sink.finish()
        return report
    }

    private func writeTable(
        _ transaction: borrowing ReadTransaction, to sink: FileSink, _ progress: (Int) throws -> Void
    ) throws -> HealthExportReport {
        var table = SampleTable()
        try sink.write(SampleTable.head)
        try forEachSample(in: transaction) { sample in
            try table.append(sample)
            try progress(table.report.samples)
            if table.isFull { try sink.write(table.take()) }
        }
        try sink.write(table.take())
        return table.report
    }

    private func write(
        _ transaction: borrowing ReadTransaction, to sink: inout any ByteSink, _ progress: (Int) throws -> Void
    ) throws -> HealthExportReport {
        var writer = SampleWriter(offset: secondsFromGMT, isExact: isExact)
        writer.appendHead(exportDate: try lastTime(in: transaction))
        // Groups are written behind all records, as Apple does, in the order of their first member.
        var groups: [SampleGroup] = []
        var known: Set<SampleGroup> = []
        try forEachSample(in: transaction) { sample in
            try writer.append(sample)
            if let name = sample.group {
                let group = SampleGroup(name: name, source: sample.source.identity)
                if known.insert(group).inserted { groups.append(group) }
            }
            if writer.line.bytes.count > HealthExport.piece { try sink.write(writer.take()) }
            try progress(writer.report.samples)
        }
        for group in groups {
            let members = try transaction.samples(group: group.name, source: group.source).filter { includes($0) }
            guard let type = SampleGroup.correlation(of: members) else {
                writer.countGroupLost()
                continue
            }
            try writer.append(correlation: type, members)
            if writer.line.bytes.count > HealthExport.piece { try sink.write(writer.take()) }
        }
        writer.appendEnd()
        try sink.write(writer.take())
        var report = writer.report
        report.charactersLost = writer.line.charactersLost
        return report
    }

    private static let piece = 1 << 18

    private func includes(_ sample: Sample) -> Bool {
        (types?.contains(sample.type) ?? true) && (sources?.contains(sample.source.name) ?? true)
            && sample.start >= range.from && sample.start < range.to
    }

    /// Calls `body` with all wanted samples, by type and time.
    private func forEachSample(
        in transaction: borrowing ReadTransaction, _ body: (Sample) throws -> Void
    ) throws {
        for type in try transaction.typesWithSamples().sorted() where types?.contains(type) ?? true {
            let query = SampleQuery(
                type, from: range.from, to: range.to, rule: .strictStart, includeShadowed: true)
            try transaction.forEachSample(query) { sample in
                if includes(sample) { try body(sample) }
                return true
            }
        }
    }

    /// The time of the latest sample: a date of the export that the content alone decides.
    private func lastTime(in transaction: borrowing ReadTransaction) throws -> Instant {
        var last = Instant(nanoseconds: 0)
        for type in try transaction.typesWithSamples() {
            if let sample = try transaction.latest(of: type) {
                last = max(last, sample.isOpenEnded ? sample.start : sample.end)
            }
        }
        return last
    }
}

/// Samples that belong together.
struct SampleGroup: Hashable {
    let name: String
    let source: SourceIdentity

    /// Returns the correlation that Apple has for the members; `nil` if it has none.
    static func correlation(of members: [Sample]) -> SampleType? {
        let owners = Set(
            members.map { sample -> SampleType? in
                if sample.type == .bloodPressureSystolic || sample.type == .bloodPressureDiastolic {
                    return .bloodPressure
                }
                return sample.type.identifier.hasPrefix("HKQuantityTypeIdentifierDietary") ? .food : nil
            })
        return owners.count == 1 ? owners.first ?? nil : nil
    }
}
