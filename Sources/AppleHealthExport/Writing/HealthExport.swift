import HealthKV
import HealthModel

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
    /// `.csv`, Observations of FHIR with a bundle a line if it ends in `.ndjson`, otherwise XML; `-` is the standard
    /// output. The file appears whole, or not at all.
    ///
    /// - Parameters:
    ///   - replaces: whether a file of the name may be replaced.
    ///   - progress: told after each sample how many were written. The export ends with the error that it throws.
    @discardableResult
    public func write(
        _ store: SampleStore, to path: String, replacing replaces: Bool = false,
        progress: (Int) throws -> Void = { _ in }
    ) throws -> HealthExportReport {
        if path == "-" { return try write(store, named: path, at: path, progress) }
        let (target, files) = (URL(fileURLWithPath: path), FileManager.default)
        let hidden = target.deletingLastPathComponent().path + "/.\(target.lastPathComponent).\(UUID())"
        let (partial, earlier) = (hidden + ".partial", hidden + ".earlier")
        defer { try? files.removeItem(atPath: partial) }
        let report = try write(store, named: path.lowercased(), at: partial, progress)
        if replaces, files.fileExists(atPath: path) { try files.moveItem(atPath: path, toPath: earlier) }
        do {
            try HealthExport.name(partial, path)
        } catch {
            // What was to be replaced comes back.
            try? files.moveItem(atPath: earlier, toPath: path)
            throw error
        }
        try? files.removeItem(atPath: earlier)
        return report
    }

    /// Gives a file its name. A file that came by this name meanwhile stays.
    private static func name(_ partial: String, _ path: String) throws {
        do {
            // Unlike a new name, a link never takes the place of another file.
            try FileManager.default.linkItem(atPath: partial, toPath: path)
        } catch {
            guard !FileManager.default.fileExists(atPath: path) else {
                throw HealthExportError("\(path) exists already. Choose another name, or allow to replace it.")
            }
            // Some file systems have no links.
            try FileManager.default.moveItem(atPath: partial, toPath: path)
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
        if name.hasSuffix(".ndjson") {
            let sink = try FileSink(path)
            var bytes = 0
            var report = try store.blockingRead { transaction in
                try writeObservations(transaction, nil, HealthExport.observationsOfPage) { bundle, count in
                    try sink.write(bundle + [0x0A])
                    bytes += bundle.count + 1
                    try progress(count)
                }
            }
            report.bytes = bytes
            try sink.finish()
            return report
        }
        var sink: any ByteSink =
            try name.hasSuffix(".zip")
            ? ZipSink(path) : FileSink(path)
        let report = try store.blockingRead { try write($0, to: &sink, progress) }
        try sink.finish()
        return report
    }

    /// Gives the samples as Observations of FHIR R4, a bundle a page. A blood pressure is one Observation of two
    /// components. Types that LOINC has no code for have HealthKit's identifier as their code, and units are those of
    /// UCUM. Returns how many Observations there were.
    ///
    /// ```swift
    /// var bundles: [[UInt8]] = []
    /// try HealthExport().observations(of: store, subject: "Patient/1") { bundles.append($0) }
    /// ```
    ///
    /// - Parameters:
    ///   - subject: whom the samples are of, as a FHIR reference; left out if `nil`.
    ///   - pageSize: how many Observations a bundle has at most.
    ///   - body: takes each bundle as JSON. The export ends with the error that it throws.
    @discardableResult
    public func observations(
        of store: SampleStore, subject: String? = nil, pageSize: Int = HealthExport.observationsOfPage,
        _ body: ([UInt8]) throws -> Void
    ) throws -> Int {
        try store.blockingRead { try writeObservations($0, subject, pageSize) { bundle, _ in try body(bundle) } }
            .samples
    }

    /// Calls `body` with each bundle and how many Observations there are up to its end. Returns how many there were,
    /// and what they have no place for.
    private func writeObservations(
        _ transaction: borrowing ReadTransaction, _ subject: String?, _ pageSize: Int,
        _ body: ([UInt8], Int) throws -> Void
    ) throws -> HealthExportReport {
        var writer = ObservationWriter(offset: secondsFromGMT, subject: subject, pageSize: pageSize)
        // A route has no form as an Observation.
        try forEachSample(in: transaction, besides: .workoutRoute) { sample in
            if sample.type.kind == .correlation {
                // A panel says that its two values belong together.
                let members = try sample.group.map {
                    try transaction.samples(group: $0, source: sample.source.identity)
                }
                let first = members?.first { $0.type == .bloodPressureSystolic }
                let isPanel = try first.map { try bloodPressure(of: $0, in: transaction) != nil } ?? false
                return writer.pass(correlation: sample, isPanel: isPanel)
            }
            if let panel = try bloodPressure(of: sample, in: transaction) {
                // The panel stands where its systolic value does.
                if panel.systolic.id == sample.id {
                    writer.append(systolic: panel.systolic, diastolic: panel.diastolic)
                }
            } else {
                writer.append(sample)
            }
            if writer.isFull, let bundle = try writer.take() { try body(bundle, writer.report.samples) }
        }
        if let bundle = try writer.take() { try body(bundle, writer.report.samples) }
        var report = writer.report
        try forEachSample(of: .workoutRoute, in: transaction) { _ in report.routesLost += 1 }
        return report
    }

    /// Returns both values of the blood pressure to which a sample belongs; `nil` if it belongs to none that has
    /// exactly two.
    private func bloodPressure(
        of sample: Sample, in transaction: borrowing ReadTransaction
    ) throws -> (systolic: Sample, diastolic: Sample)? {
        guard sample.type == .bloodPressureSystolic || sample.type == .bloodPressureDiastolic, let group = sample.group
        else { return nil }
        let members = try transaction.samples(group: group, source: sample.source.identity).filter {
            wanted.includes($0)
        }
        let (upper, lower) = (
            members.filter { $0.type == .bloodPressureSystolic }, members.filter { $0.type == .bloodPressureDiastolic }
        )
        guard upper.count == 1, lower.count == 1 else { return nil }
        return (upper[0], lower[0])
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
        var writer = SampleWriter(offset: secondsFromGMT, isExact: isExact, hasFiles: sink.takesFiles)
        var summaries = try ActivitySummaries(in: transaction, where: wanted.includes)
        let exportDate = summaries.exportDate(after: try HealthExport.lastStart(in: transaction), writer.line)
        let settings = isExact ? try ExactSettings(of: transaction, where: wanted.includes) : nil
        try writer.appendHead(exportDate: exportDate, settings)
        // Groups are written behind all records, as Apple does, in the order of their first member.
        var groups: [SampleGroup] = []
        var known: Set<SampleGroup> = []
        var written: Set<SampleID> = []
        // Routes stand within their workouts.
        try forEachSample(in: transaction, besides: .workoutRoute) { sample in
            let isCorrelation = sample.type.kind == .correlation
            if !isCorrelation {
                let routes = try transaction.routes(of: sample).filter {
                    wanted.includes($0) && written.insert($0.id).inserted
                }
                try writer.append(sample, with: routes)
            }
            if let name = sample.group {
                let group = SampleGroup(name: name, source: sample.source.identity)
                if known.insert(group).inserted { groups.append(group) }
            } else if isCorrelation {
                try writer.append(correlation: sample.type, [], own: sample)
            }
            if writer.line.bytes.count > HealthExport.piece { try sink.write(writer.take()) }
            try progress(writer.report.samples)
        }
        // A route without a workout has no place in the form, unless a record carries it whole.
        try forEachSample(of: .workoutRoute, in: transaction) { route in
            if written.contains(route.id) { return }
            if isExact { try writer.append(route) } else { writer.countRouteLost() }
        }
        for group in groups {
            let all = try transaction.samples(group: group.name, source: group.source).filter { wanted.includes($0) }
            let members = all.filter { $0.type.kind != .correlation }
            let own = all.filter { $0.type.kind == .correlation }
            if own.isEmpty, let type = Correlation.type(holding: members.map(\.type)) {
                try writer.append(correlation: type, members, own: nil)
            } else if own.isEmpty {
                writer.countGroupLost()
            }
            // Several correlations of one group cannot share its members: the first one has them.
            for (number, sample) in own.enumerated() {
                try writer.append(correlation: sample.type, number == 0 ? members : [], own: sample)
            }
            if writer.line.bytes.count > HealthExport.piece { try sink.write(writer.take()) }
        }
        summaries.write(to: &writer, exportDay: writer.line.day(of: exportDate))
        writer.appendEnd()
        try sink.write(writer.take())
        if sink.takesFiles {
            for (id, file) in writer.routes {
                guard let route = try transaction.sample(id: id)?.route else { continue }
                try sink.write(file: file, RouteWriter.bytes(of: route))
            }
        }
        var report = writer.report
        report.totalsLost = summaries.lost
        if !isExact { report.charactersLost = writer.line.charactersLost }
        return report
    }

    private static let piece = 1 << 18
    /// How many Observations a bundle has, unless a caller wants another number.
    public static let observationsOfPage = 1_000

    private var wanted: WantedRecords { WantedRecords(types: types, sources: sources, range: range) }

    /// Calls `body` with all wanted samples, by type and time, but those of one type.
    private func forEachSample(
        in transaction: borrowing ReadTransaction, besides left: SampleType? = nil, _ body: (Sample) throws -> Void
    ) throws {
        let wanted = wanted
        for type in try transaction.typesWithSamples().sorted() where wanted.includes(type) && type != left {
            try forEachSample(of: type, in: transaction, body)
        }
    }

    /// Calls `body` with all wanted samples of a type, by time.
    private func forEachSample(
        of type: SampleType, in transaction: borrowing ReadTransaction, _ body: (Sample) throws -> Void
    ) throws {
        let wanted = wanted
        let query = SampleQuery(type, from: range.from, to: range.to, rule: .strictStart, includeShadowed: true)
        try transaction.forEachSample(query) { sample in
            if wanted.includes(sample) { try body(sample) }
            return true
        }
    }

    /// Returns a date of the export that the content alone decides: when the latest sample starts or the latest total
    /// was read.
    package static func date(of transaction: borrowing ReadTransaction) throws -> Instant {
        let summaries = try ActivitySummaries(in: transaction)
        return summaries.exportDate(after: try lastStart(in: transaction), ExportLine(offset: 0))
    }

    private static func lastStart(in transaction: borrowing ReadTransaction) throws -> Instant {
        try transaction.types().compactMap(\.last).max() ?? Instant(nanoseconds: 0)
    }
}

/// Samples that belong together.
struct SampleGroup: Hashable {
    let name: String
    let source: SourceIdentity
}
