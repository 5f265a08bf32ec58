import HealthKV

/// `kvinspect check STORE`
enum CheckVerb: Verb {
    static let description = VerbDescription(
        name: "check", abstract: "Check pages, checksums, records and indexes.",
        discussion: "Ends with code 2 when the store is damaged. No finding shows a health value.", arguments: [.store],
        options: [
            OptionDescription(name: "limit", value: "count", help: "At most so many findings.", defaultValue: "1000"),
            OptionDescription(
                name: "show-values",
                help: "Also show keys, identifiers and hours of findings: they tell when something was measured."),
            .format, .progress,
        ])

    private static let shape = Listing.Shape(key: "findings", columns: ["code", "table", "detail"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let limit = try arguments.count("limit") ?? 1000
        switch try WatchedProcess.run() {
        case .ended(let code): return code
        case .crashed:
            // What it showed of its progress stands there still.
            if console.isErrorTerminal { console.showBar("") }
            return try report(broken, arguments, console)
        case .stopped(let signal):
            try Interruption.check()
            throw Failure("The check was ended by signal \(signal) before it was done.")
        case nil: break
        }
        let progress = Progress(arguments, console, unit: "%", total: 100)
        let result = try check(arguments.store, limit: limit, progress)
        progress.finish()
        return try report(Findings(result, showsValues: arguments.flag("show-values")), arguments, console)
    }

    /// What is printed of a check.
    fileprivate struct Findings {
        let list: [JSONValue]
        let omitted: Int
        let samples: Int
        let unexamined: [String]
        /// Whether all that was found are values of a newer release.
        var isOfNewerRelease = false
    }

    /// What is said where the system ended the process that read the file.
    private static var broken: Findings {
        let finding: [JSONValue.Field] = [
            .init("code", .string(Finding.Kind.fileUnreadable.rawValue)), .init("table", .string("pages")),
            .init("detail", .string("the file changed, or could not be read, while it was checked")),
        ]
        return Findings(
            list: [.object(finding)], omitted: 0, samples: 0,
            unexamined: ["the rest of the file; check it again while nobody else changes it"])
    }

    private static func report(
        _ findings: Findings, _ arguments: ParsedArguments, _ console: Console
    ) throws -> ExitCode {
        let count = findings.list.count + findings.omitted
        try OutputClosed.end {
            try Listing.print(shape, arguments, console) { listing in
                for finding in findings.list { try listing.append(finding) }
                return [
                    .init("clean", .bool(count == 0)), .init("omitted", .count(findings.omitted)),
                    .init("samples", .count(findings.samples)),
                    .init("unexamined", .array(findings.unexamined.map { .string($0) })),
                ]
            }
        }
        for part in findings.unexamined { console.say("Not looked at: \(part).") }
        if findings.isOfNewerRelease {
            console.say(
                "A newer release wrote \(count) value\(count == 1 ? "" : "s"): update kvinspect. Nothing is known to be damaged."
            )
            return .failed
        }
        console.say(
            count == 0 ? "The store is clean." : "The store is damaged: \(count) finding\(count == 1 ? "" : "s").")
        return count == 0 ? .clean : .damage
    }

    private static func check(_ folder: String, limit: Int, _ progress: Progress) throws -> CheckReport {
        guard StoreAccess.holdsStore(folder) else { throw StoreAccess.noStore(in: folder) }
        let report = try SampleStore.check(
            at: folder, limit: limit, progress: { (try? progress.advance(to: Int($0 * 100))) != nil },
            onNotice: StoreAccess.tell)
        try Interruption.check()
        return report
    }
}

extension CheckVerb.Findings {
    fileprivate init(_ report: CheckReport, showsValues: Bool) {
        list = report.findings.map { finding in
            let reference = showsValues ? finding.reference.map { " (\($0))" } ?? "" : ""
            return .object([
                .init("code", .string(finding.kind.rawValue)), .init("table", .string(finding.table)),
                .init("detail", .string(finding.detail + reference)),
            ])
        }
        (omitted, samples, unexamined) = (report.omitted, report.samples, report.unexamined)
        isOfNewerRelease = report.isOfNewerRelease
    }
}
