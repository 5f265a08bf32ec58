#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV

/// `kvinspect repair STORE --output NEW`
enum RepairVerb: Verb {
    static let description = VerbDescription(
        name: "repair", abstract: "Save what can be saved of a damaged store into a new one.",
        discussion:
            "The store itself is only read. The new store is checked and synced before it gets its name. Its peers compare "
            + "before anything is sent. Ends with code 0 for a sound store, 3 if nothing was lost, and 4 if something was.",
        arguments: [.store],
        options: [
            OptionDescription(
                name: "output", value: "folder", help: "The new store: a folder that does not exist.", kind: .folder),
            OptionDescription(name: "dry-run", help: "Only say what a repair would give; works in a temporary folder."),
            OptionDescription(
                name: "include-doubtful",
                help:
                    "Also keep samples that may have been changed or deleted since, and, of a store with peers, those whose ids are lost."
            ),
            OptionDescription(name: "no-mend", help: "Do not set single wrong bits right."),
            OptionDescription(
                name: OptionDescription.exactDamage.name,
                help: "Print times in the text, not only days. JSON has the times in any case."),
            .format, .progress,
        ])

    /// Findings that are named one by one.
    static let named = 20

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let isDry = arguments.flag("dry-run")
        let output = arguments.text("output")
        guard isDry || output != nil else { throw UsageError("--output or --dry-run is missing", verb: description) }
        guard StoreAccess.holdsStore(arguments.store) else { throw StoreAccess.noStore(in: arguments.store) }
        if output == "" { throw arguments.invalid("output", reason: "Please provide the name of a new folder.") }
        if let output { try StoreAccess.refuseTaken(output) }
        var options = RepairOptions()
        options.includesDoubtful = arguments.flag("include-doubtful")
        options.mends = !arguments.flag("no-mend")
        let progress = Progress(arguments, console, unit: "steps")
        let report: RepairReport
        do {
            if let output, !isDry {
                console.say("Writing \(output); \(arguments.store) is only read.")
                report = try SampleStore.repair(at: arguments.store, to: output, options: options) {
                    (try? progress.advance()) != nil
                }
            } else {
                report = try SampleStore.withSalvaged(
                    at: arguments.store, options: options, progress: { (try? progress.advance()) != nil }
                ) { $1 }
            }
        } catch let error as StoreError where error.code == .cancelled {
            try Interruption.check()
            throw error
        } catch let error as StoreError where error.code == .accessDenied && isOfOutput(error, output) {
            throw Failure("\(error.path): \(error.detail)\(error.cause). Choose an --output where you may write.")
        }
        // A new store that is complete stays, so what it lacks is told, however late somebody wanted to stop.
        progress.finish()
        let written = isDry ? nil : output
        // Also where nobody reads the answer any more, the code tells what became of the store.
        try OutputClosed.end {
            try Answer.print(fields(report, output, commands: commands(report, written)), arguments, console) {
                lines(report, written, arguments)
            }
        }
        return report.isSound ? .clean : report.isLossy ? .lossyRepair : .repaired
    }

    /// Whether an error is about the new store, and not about the one that is read.
    private static func isOfOutput(_ error: StoreError, _ output: String?) -> Bool {
        guard let output else { return false }
        return path(error.path) == path(output)
    }

    private static func fields(
        _ report: RepairReport, _ output: String?, commands: [String]
    ) -> [JSONValue.Field] {
        [
            .init("source", .string(report.source)), .init("output", output.map { .string($0) } ?? .null),
            .init("sound", .bool(report.isSound)), .init("transactions_lost", .count(report.transactionsLost)),
            .init("commits_lost", .count(report.commitsLost)), .init("kept", parts(report.kept)),
            .init("mended", parts(report.mended)), .init("mended_values", .count(report.mendedValues)),
            .init("lost", parts(report.lost)),
            .init("may_hold_deleted", .bool(report.mayHoldDeleted)), .init("doubtful", parts(report.doubtful)),
            .init("identities_lost", parts(report.identitiesLost)), .init("details_lost", parts(report.detailsLost)),
            .init(
                "records_lost",
                .object(
                    report.recordsLost.sorted { $0.key < $1.key }
                        .map { .init($0.key, $0.value == 0 ? .null : .count($0.value)) })),
            .init("findings", .array(report.findings.map { .string($0) })),
            .init(
                "sync",
                .object([
                    .init("peers", .count(report.peers)), .init("pending", .count(report.pending)),
                    .init("adopts_first", .bool(report.peers > 0)),
                ])),
            .init(
                "check",
                .object([
                    .init("clean", .bool(report.check.isClean)),
                    .init("findings", .count(report.check.findings.count + report.check.omitted)),
                ])),
            .init("commands", .array(commands.map { .string($0) })),
        ]
    }

    private static func parts(_ parts: [RepairReport.Part]) -> JSONValue {
        .array(
            parts.map { part in
                .object([
                    .init("type", .string(part.type.identifier)),
                    .init("from", part.from.map { .string(DateText.text($0, in: .utc)) } ?? .null),
                    .init("to", part.to.map { .string(DateText.text($0, in: .utc)) } ?? .null),
                    .init("samples", part.samples.map { .count($0) } ?? .null), .init("certain", .bool(part.isCertain)),
                ])
            })
    }

    /// A part of the report in words.
    private static func line(_ title: String, _ part: RepairReport.Part, _ arguments: ParsedArguments) -> String {
        let count = part.samples.map { "\($0)" } ?? "an unknown number"
        let isExact = arguments.flag(OptionDescription.exactDamage.name)
        let type = part.type == .unknown ? "unknown types" : part.type.shortName
        guard part.from != nil || part.to != nil else { return "\(title): \(count) of \(type)" }
        // A part ends with its last start.
        let to = part.to.map { $0 + (isExact ? 0 : 1) } ?? .distantFuture
        let span = LostParts.span(part.from ?? .distantPast, to, in: .utc, isExact)
        return "\(title): \(count) of \(type), \(span)"
    }

    /// What the store held and a repair does not bring back, in words.
    static func losses(of report: RepairReport, _ arguments: ParsedArguments) -> [String] {
        var lines: [String] = []
        if report.transactionsLost > 0 { lines.append("transactions lost: \(report.transactionsLost)") }
        if report.commitsLost > 0 { lines.append("commits of the journal lost: at least \(report.commitsLost)") }
        for (title, parts) in [
            ("lost", report.lost), ("doubtful", report.doubtful), ("identities lost", report.identitiesLost),
        ] {
            lines += parts.map { line(title, $0, arguments) }
        }
        if !report.detailsLost.isEmpty {
            lines.append("  of those samples only type, times, value, unit and source are known; their ids, versions,")
            lines.append("  metadata, devices, groups, notes, edits and what workouts hold are lost")
            lines.append(
                report.keepsNameless
                    ? "  those samples are kept under new ids"
                    : "  those samples are left out; --include-doubtful keeps them under new ids")
        }
        if report.mayHoldDeleted { lines.append("deleted samples may be back: what tells of deletions is lost") }
        let tables = report.recordsLost.sorted { $0.key < $1.key }
        lines += tables.filter { $0.value > 0 }.map { "records of \($0.key) lost: \($0.value)" }
        let unknown = tables.filter { $0.value == 0 }.map(\.key)
        if !unknown.isEmpty {
            lines.append("records lost, if there were any: \(unknown.joined(separator: ", "))")
        }
        return lines
    }

    private static func counted(_ number: Int, _ thing: String) -> String {
        "\(number) \(thing)\(number == 1 ? "" : "s")"
    }

    /// The whole path of a folder, which holds in whatever folder a command is run.
    private static func path(_ text: String) -> String {
        let here = FileManager.default.currentDirectoryPath
        var parts = text.hasPrefix("/") ? [] : here.split(separator: "/")
        // No symbolic link leads to where the process is. One that was named may, so ".." behind it stays.
        var named = text.hasPrefix("/") ? 1 : 0
        for part in text.split(separator: "/") where part != "." {
            if part == "..", named == 0 {
                _ = parts.popLast()
            } else {
                parts.append(part)
                named += 1
            }
        }
        return "/" + parts.joined(separator: "/")
    }

    /// The commands of a shell that put a new store in place of a damaged one.
    private static func commands(_ report: RepairReport, _ output: String?) -> [String] {
        guard let output, !report.isSound, !savesNothing(report) else { return [] }
        let source = path(report.source)
        return [
            "mv \(ShellWord.of(source)) \(ShellWord.of(source + ".damaged"))",
            "mv \(ShellWord.of(path(output))) \(ShellWord.of(source))",
        ]
    }

    private static func savesNothing(_ report: RepairReport) -> Bool { report.kept.isEmpty && report.isLossy }

    private static func lines(_ report: RepairReport, _ output: String?, _ arguments: ParsedArguments) -> [String] {
        var lines: [String] = []
        lines.append(report.isSound ? "The store is sound." : "Damage: \(counted(report.findings.count, "finding")).")
        lines += report.findings.prefix(named).map { "  " + Table.clean($0) }
        if savesNothing(report) { lines.append("No sample could be saved. Keep the old store, and look for a backup.") }
        lines += report.kept.map { line("kept", $0, arguments) }
        lines += losses(of: report, arguments)
        lines += report.mended.map { line("mended", $0, arguments) }
        if report.mendedValues > 0 { lines.append("values mended in one bit: \(report.mendedValues)") }
        if report.peers > 0 {
            let pending = counted(report.pending, "operation")
            lines.append(
                "Sync: \(counted(report.peers, "peer")) will compare first; \(pending) still waiting for peers.")
        }
        lines.append(
            report.check.isClean ? "The new store is clean." : "The new store has findings: run 'check' on it.")
        let commands = commands(report, output)
        if !commands.isEmpty { lines.append("To use it: " + commands.joined(separator: " && ")) }
        // Names of types come from the store.
        return lines.map(Table.clean)
    }
}

extension SampleType {
    /// What a report has where nothing tells the type.
    fileprivate static let unknown = SampleType("unknown")
}
