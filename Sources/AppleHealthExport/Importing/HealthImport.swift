import HealthKV

/// Imports an export of Apple Health: `export.zip`, the folder that was in it, its XML file, or a stream of that. With
/// a ``map`` it imports a table of values separated by commas.
///
/// An export names no ids. A record is the sample that the store holds if type, name of the source, start and end are
/// equal and the values differ by less than half a unit of the coarser printed digit, in whatever unit each is. So
/// importing a file again adds nothing, a later export adds only what is new, and what was deleted here stays away. A
/// later export changes the samples to which their apps gave names (`HKExternalUUID`).
///
/// ```swift
/// let report = try HealthImport().run("export.zip", into: store)
/// print(report.inserted, report.unchanged)
/// ```
///
/// A file of an exact export (``HealthExport/isExact``) also brings what was set for types in its store, unless only a
/// part of it is chosen.
///
/// An import that was interrupted goes on where it stopped when it is run again with the same file and options.
public struct HealthImport: Sendable {
    /// The types to import; `nil` for all.
    public var types: Set<SampleType>?
    /// The names of the sources to import; `nil` for all.
    public var sources: Set<String>?
    /// Imports only samples that start in this range.
    public var range = TimeRange.all
    /// Whether to find out only what an import would do.
    public var isDryRun = false
    /// An archive whose XML is more than this many times its compressed size is refused: no export compresses so well,
    /// and such files are made to keep a reader busy. `nil` for no limit. XML of up to 64 MB is always read.
    public var expansionLimit: Int? = 250
    /// How the rows of a table become samples; `nil` for an export of Apple Health.
    public var map: ImportMap?

    /// Creates an import of everything.
    public init() {}

    /// A part of a file that was not taken.
    public struct QuarantinedPart: Sendable, Hashable {
        /// Where the part begins in the XML or table, in bytes.
        public let offset: Int
        /// The line of a table; `nil` for an export.
        public let line: Int?
        /// Why it was not taken.
        public let reason: String
        /// The part as it stands in the file.
        public let bytes: [UInt8]
    }

    /// How far an import is.
    public struct Progress: Sendable, Hashable {
        /// The bytes of XML that were read.
        public let bytes: Int
        /// The bytes of XML that there are; `nil` if that is not known.
        public let total: Int?
    }

    /// Reads a file and stores its samples.
    ///
    /// - Parameters:
    ///   - path: an archive, a folder, an XML file or a table, or `-` for the standard input.
    ///   - store: the store; `nil` to read only, which counts every wanted record as new.
    ///   - quarantine: takes each part that was not taken.
    ///   - progress: told after each megabyte. The import ends with the error that it throws; what is stored stays.
    /// - Throws: ``HealthImportError`` if the file is no export, and the errors of file and store.
    @discardableResult
    public func run(
        _ path: String, into store: SampleStore?, quarantine: (QuarantinedPart) throws -> Void = { _ in },
        progress: (Progress) throws -> Void = { _ in }
    ) throws -> HealthImportReport {
        let file = try map == nil ? ExportFile(path, expansion: expansionLimit) : ExportFile(table: path)
        let job = file.fingerprint.map { "\($0) \(options)" }
        let writer = try store.map { try HistoryWriter($0, job: job, isDryRun: isDryRun) }
        var sink = RecordSink(writer, WantedRecords(types: types, sources: sources, range: range))
        for other in file.others { sink.report.keepOut(other.kind, bytes: other.bytes) }
        let handOver: ExportReader.Quarantine = { part in
            try quarantine(
                QuarantinedPart(offset: part.offset, line: part.line, reason: part.reason, bytes: part.bytes))
        }
        let tell: ExportReader.Progress = { try progress(Progress(bytes: $0, total: file.size)) }
        do {
            if let map {
                try TableReader.read(file.source, map, into: &sink, handOver, tell)
            } else {
                var reader = ExportReader(routes: file.routes)
                try reader.read(file.source, into: &sink, handOver, tell)
            }
        } catch {
            // What was read before is sound.
            try? sink.finish(isWhole: false)
            throw error
        }
        for bytes in file.routes.unnamed { sink.report.keepOut(ExportName.workoutRoute.text, bytes: bytes) }
        try sink.finish(isWhole: true)
        for id in writer?.refused ?? [] {
            sink.report.quarantined += 1
            let reason =
                "the sample \(id) is held with another type, source or sync identifier, by which peers recognise it"
            try quarantine(QuarantinedPart(offset: 0, line: nil, reason: reason, bytes: []))
        }
        if let store, !isDryRun, let settings = sink.settings, types == nil, sources == nil, range == .all {
            do { try settings.set(in: store) } catch  where HealthImport.isAboutSettings(error) {
                sink.report.quarantined += 1
                try quarantine(
                    QuarantinedPart(offset: 0, line: nil, reason: "the settings cannot be set: \(error)", bytes: []))
            }
        }
        if let store, !isDryRun { while try store.maintain(budget: .milliseconds(200)) {} }
        return sink.report
    }

    /// Whether settings cannot be set, and the samples beside them are sound.
    private static func isAboutSettings(_ error: any Error) -> Bool {
        guard let error = error as? StoreError else { return error is ModelError }
        return [.invalidArgument, .conflictingTypes, .invalidSample].contains(error.code)
    }

    /// The number of the rule by which rows are divided into batches. An import that began under another starts over.
    private static let ruleOfBatches = 9

    /// The options that decide how batches are cut, as a part of the name under which an import goes on.
    private var options: String {
        let types = types.map { $0.map(\.identifier).sorted().joined(separator: ",") } ?? "*"
        let sources = sources.map { $0.sorted().joined(separator: ",") } ?? "*"
        let map = map.map { " \($0)" } ?? ""
        return
            "\(HealthImport.ruleOfBatches) \(types) \(sources) \(range.from.nanoseconds) \(range.to.nanoseconds)\(map)"
    }
}
