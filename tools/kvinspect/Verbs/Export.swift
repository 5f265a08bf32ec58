import AppleHealthExport
import HealthKV
import LMDB

/// `kvinspect export STORE FILE`
enum ExportVerb: Verb {
    static let description = VerbDescription(
        name: "export", abstract: "Write the samples as an export of Apple Health (XML or archive), a table, or FHIR.",
        discussion:
            "The same samples give the same bytes. Apple's format has whole seconds and no ids; what it has no place for is "
            + "counted. With --exact every sample is carried whole, and an import of the file gives the same store again.",
        arguments: [
            .store,
            ArgumentDescription(
                name: "file",
                help:
                    "A name that ends in .xml, .zip, .csv or .ndjson (a bundle of FHIR R4 Observations a line), or - for XML on "
                    + "the output.", kind: .file),
        ],
        options: [
            OptionDescription(name: "exact", help: "Carry every sample whole, as metadata that 'import' takes back."),
            OptionDescription(
                name: "types", value: "types", help: "Only these types, such as stepCount,bodyMass.", kind: .type),
            .from, .to,
            OptionDescription(name: "source", value: "source", help: "Only samples of this source, by its name."),
            OptionDescription(name: "force", help: "Replace the file if it exists."), .format, .zone, .progress,
        ])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        var task = HealthExport()
        task.types = try arguments.types()
        task.sources = arguments.text("source").map { [$0] }
        task.range = try arguments.orderedRange(in: zone)
        task.isExact = arguments.flag("exact")
        let file = arguments.argument("file")
        let endings = [".xml", ".zip", ".csv", ".ndjson"]
        guard file == "-" || endings.contains(where: { file.lowercased().hasSuffix($0) }) else {
            throw UsageError(
                "\(file) has no known ending. Please provide a name that ends in .xml, .zip, .csv or .ndjson.",
                verb: description)
        }
        let isOfApple = file == "-" || [".xml", ".zip"].contains { file.lowercased().hasSuffix($0) }
        guard isOfApple || !task.isExact else {
            throw UsageError(
                "--exact is for .xml, .zip and -: a table or FHIR has no place for whole samples.",
                verb: description)
        }
        let store = try StoreAccess.openForReading(arguments.store)
        for type in task.types ?? [] { try UnknownType.refuse(type, in: store) }
        if file != "-" { _ = try NewFile(file, replaces: arguments.flag("force"), outside: arguments.store) }
        let (samples, last) = try store.read { transaction in
            let types = try task.types ?? transaction.typesWithSamples()
            let samples = try types.map { try transaction.count(of: $0, in: task.range) }.reduce(0, +)
            return (samples, try HealthExport.date(of: transaction))
        }
        // As Apple does: one offset for the whole file, that of the time of the export.
        let seconds = last.nanoseconds / Instant.nanosecondsPerSecond + Instant.secondsFrom1970To2001
        task.secondsFromGMT = zone.offset(at: Int(seconds))
        if file != "-" { console.say("Writing \(file); \(arguments.store) is only read.") }
        let progress = Progress(arguments, console, unit: "samples", total: samples)
        let report: HealthExportReport
        do {
            report = try task.write(store, to: file, replacing: arguments.flag("force")) {
                try progress.advance(to: $0)
            }
        } catch let error as HealthExportError where error.isOutputClosed {
            throw OutputClosed()
        }
        progress.finish()
        if report.samples == 0 {
            try store.read {
                try UnknownSource.mention(arguments.text("source"), takesBundles: false, in: $0, console)
            }
        }
        if file == "-" {
            let losses = losses(of: report)
            if !losses.isEmpty { console.say("Apple's format has no place for: \(losses).") }
        } else {
            try print(report, file, arguments, console)
        }
        return .clean
    }

    private static func lost(in report: HealthExportReport) -> [(String, Int)] {
        [
            ("fractions_lost", report.fractionsLost), ("ids_lost", report.idsLost),
            ("details_lost", report.detailsLost), ("groups_lost", report.groupsLost),
            ("routes_lost", report.routesLost),
            ("totals_lost", report.totalsLost), ("characters_lost", report.charactersLost),
        ]
    }

    private static func losses(of report: HealthExportReport) -> String {
        lost(in: report).filter { $0.1 > 0 }.map { "\($0.1) \($0.0.replacing("_", with: " "))" }.joined(separator: ", ")
    }

    private static func print(
        _ report: HealthExportReport, _ file: String, _ arguments: ParsedArguments, _ console: Console
    ) throws {
        let size = FileSystem.size(of: file) ?? report.bytes
        let counts =
            [
                ("samples", report.samples), ("totals", report.totals), ("bytes", report.bytes), ("file_bytes", size),
            ] + lost(in: report)
        try Answer.print(
            [.init("file", .string(file))] + counts.map { .init($0.0, .count($0.1)) }, arguments, console
        ) {
            let losses = losses(of: report)
            let first = "\(file): \(report.samples) samples, \(ByteSize.text(size))"
            let name = file.lowercased()
            let format =
                name.hasSuffix(".csv") ? "The table" : name.hasSuffix(".ndjson") ? "FHIR" : "Apple's format"
            let hint =
                name.hasSuffix(".xml") && report.routesLost > 0
                ? ["Routes stand in files beside the XML: a name that ends in .zip takes them along."] : []
            return losses.isEmpty ? [first] : [first, "\(format) has no place for: \(losses)"] + hint
        }
    }
}
