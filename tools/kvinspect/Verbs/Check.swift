import HealthKV

/// `kvinspect check STORE`
enum CheckVerb: Verb {
    static let description = VerbDescription(
        name: "check", abstract: "Check pages, checksums, records and indexes.",
        discussion:
            "Ends with code 2 when the store is damaged, the worst findings first. No finding shows a health value. "
            + "With --table, --type, --from or --to, the code is 2 if any finding is left.", arguments: [.store],
        options: [
            OptionDescription(name: "table", value: "name", help: "Only findings about this table."),
            OptionDescription(
                name: OptionDescription.type.name, value: "type",
                help: "Only findings about samples of this type, by HealthKit identifier or short name.", kind: .type),
            OptionDescription(
                name: OptionDescription.from.name, value: "date",
                help: "Only findings about samples that may start at or after this ISO 8601 date."),
            OptionDescription(
                name: OptionDescription.to.name, value: "date",
                help: "Only findings about samples that may start before this ISO 8601 date."),
            OptionDescription(
                name: "resume", value: "part",
                help: "Go on with this part, at which a check was stopped. Pages are checked in any case.",
                choices: CheckPart.allCases.map(\.rawValue) + otherNames.keys.sorted()),
            OptionDescription(name: "limit", value: "count", help: "At most so many findings.", defaultValue: "1000"),
            OptionDescription(
                name: "show-values",
                help: "Also show keys, identifiers and hours of findings, and the exact times of samples, not only the "
                    + "days: they tell when something was measured."),
            .format, .zone, .progress,
        ])

    /// Parts by what they look at.
    private static let otherNames: [String: CheckPart] = [
        "checksums": .chunks, "indexes": .identity, "anchors": .peers,
    ]

    private static let shape = Listing.Shape(
        key: "findings", columns: ["code", "table", "page", "type", "from", "to", "samples", "detail"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let limit = try arguments.count("limit") ?? 1000
        let filter = try FindingFilter(arguments)
        try filter.refuseUnknown(in: arguments.store)
        let first =
            arguments.text("resume").flatMap { otherNames[$0] } ?? arguments.choice("resume", default: CheckPart.pages)
        switch try WatchedProcess.run() {
        case .ended(let code): return code
        case .crashed:
            // Clear the progress line that the child left.
            if console.showsBars { console.showBar("") }
            return try report(broken, arguments, console)
        case .stopped(let signal):
            try Interruption.check()
            throw Failure("The check was ended by signal \(signal) before it was done.")
        case nil: break
        }
        let progress = Progress(arguments, console, unit: "%", total: 100)
        let result = try check(arguments.store, from: first, limit: filter.isActive ? .max : limit, progress)
        progress.finish()
        let findings = Findings(
            result, filter, from: first, limit: limit, showsValues: arguments.flag("show-values"))
        let code = try report(findings, arguments, console)
        guard let part = result.stoppedAt else { return code }
        console.say("The check was stopped in '\(part.rawValue)': go on with --resume \(part.rawValue).")
        throw Interruption()
    }

    /// What is printed of a check.
    fileprivate struct Findings {
        let list: [JSONValue]
        let omitted: Int
        /// How many samples were looked at; `nil` where nothing leads to them.
        let samples: Int?
        let unexamined: [String]
        /// Whether all that was found are values of a newer release.
        var isOfNewerRelease = false
        var isComplete: Bool { stoppedAt == nil }
        /// The part in which the check was stopped.
        var stoppedAt: CheckPart?
        /// The findings that were not asked for; `nil` if all were.
        var others: Int?
        /// The part with which the check went on; `nil` for a whole check.
        var resumedAt: CheckPart?
    }

    fileprivate static func record(_ finding: Finding, _ zone: Zone, showsValues: Bool) -> JSONValue {
        let reference = showsValues ? finding.reference.map { " (\($0))" } ?? "" : ""
        func date(_ instant: Instant?) -> JSONValue {
            guard let instant, instant != .distantPast, instant != .distantFuture else { return .null }
            let text = DateText.text(instant, in: zone)
            return .string(showsValues ? text : String(text.prefix { $0 != "T" }))
        }
        return .object([
            .init("code", .string(finding.kind.rawValue)), .init("table", .string(finding.table)),
            .init("page", finding.page.map { .integer(Int64(clamping: $0)) } ?? .null),
            .init("type", .optional(finding.samples?.type.identifier)),
            .init("from", date(finding.samples?.starts.from)), .init("to", date(finding.samples?.starts.to)),
            .init("samples", .optional(finding.samples?.count)), .init("detail", .string(finding.detail + reference)),
        ])
    }

    /// What is said where the system ended the process that read the file.
    private static var broken: Findings {
        let finding: [JSONValue.Field] = [
            .init("code", .string(Finding.Kind.fileUnreadable.rawValue)), .init("table", .string("pages")),
            .init("detail", .string("the file changed, or could not be read, while it was checked")),
        ]
        return Findings(
            list: [.object(finding)], omitted: 0, samples: nil,
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
                    .init("clean", .bool(count == 0 && findings.isComplete)),
                    .init("omitted", .count(findings.omitted)),
                    .init("samples", .optional(findings.samples)),
                    .init("unexamined", .array(findings.unexamined.map { .string($0) })),
                    .init("stopped_at", .optional(findings.stoppedAt?.rawValue)),
                ] + (findings.others.map { [.init("filtered_out", .count($0))] } ?? [])
                    + Listing.trailer(isComplete: findings.isComplete)
            }
        }
        for part in findings.unexamined { console.say("Not looked at: \(part).") }
        if !findings.isComplete { return count == 0 ? .clean : .damage }
        if findings.isOfNewerRelease {
            console.say(
                "A newer release wrote \(count) value\(count == 1 ? "" : "s"): update kvinspect. Nothing is known to be damaged."
            )
            return .failed
        }
        console.say(
            count == 0
                ? findings.others.map(CheckVerb.text) ?? cleanText(findings)
                : "The store is damaged: \(count) finding\(count == 1 ? "" : "s").")
        return count == 0 ? .clean : .damage
    }

    private static func cleanText(_ findings: Findings) -> String {
        guard let part = findings.resumedAt else { return "The store is clean." }
        return "The pages are sound, and nothing is found from '\(part.rawValue)' on."
    }

    /// What is said if a filter leaves no finding.
    private static func text(others: Int) -> String {
        let rest = others == 1 ? " One is about something else." : " \(others) are about other things."
        return "No finding is about that." + (others == 0 ? "" : rest)
    }

    private static func check(
        _ folder: String, from first: CheckPart, limit: Int, _ progress: Progress
    ) throws -> CheckReport {
        guard StoreAccess.holdsStore(folder) else { throw StoreAccess.noStore(in: folder) }
        let report = try SampleStore.check(
            at: folder, from: first, limit: limit, progress: { (try? progress.advance(to: Int($0 * 100))) != nil },
            onNotice: StoreAccess.tell)
        if report.stoppedAt == nil { try Interruption.check() }
        return report
    }
}

/// Which findings are wanted.
private struct FindingFilter {
    let table: String?
    let type: SampleType?
    let range: TimeRange
    let zone: Zone

    init(_ arguments: ParsedArguments) throws {
        zone = try arguments.zone()
        table = arguments.text("table")
        type = arguments.text(OptionDescription.type.name) == nil ? nil : try arguments.type()
        range = try arguments.range(in: zone)
    }

    private static let tablesOfSamples: Set<String> = ["chunks", "details", "names", "pages", "<main>"]

    private static let kindsOfMetas: Set<Finding.Kind> = [.metaUnreadable, .metaVersion, .metaInvalid]

    /// Returns how many meta pages lead nowhere.
    static func lostMetas(_ findings: [Finding]) -> Int {
        Set(findings.filter { kindsOfMetas.contains($0.kind) }.map(\.page)).count
    }

    /// Whether something is damaged that may lead to any table. One of two meta pages hides nothing.
    private static func mayHideTables(_ finding: Finding, lostMetas: Int) -> Bool {
        if finding.kind == .fileUnreadable || finding.kind == .header { return true }
        if kindsOfMetas.contains(finding.kind) { return lostMetas > 1 }
        return finding.kind.severity == Finding.Kind.pageUnreadable.severity
            && ["pages", "<main>"].contains(finding.table)
    }

    private static func mayHideSamples(_ finding: Finding) -> Bool {
        finding.kind.severity < Finding.Kind.chunkUnreadable.severity && tablesOfSamples.contains(finding.table)
            || ["chunks", "details", "summaries"].contains(finding.table)
    }

    var isActive: Bool { table != nil || type != nil || range != .all }

    /// Refuses a type or table that does not exist, as far as the store can be asked.
    func refuseUnknown(in folder: String) throws {
        if let table { try UnknownTable.refuse(table) }
        guard let type, type.catalogNumber == nil, StoreAccess.holdsStore(folder) else { return }
        var options = SampleStore.Options()
        (options.createIfMissing, options.readOnly) = (false, true)
        // What it holds cannot be asked of a store that is too damaged to be opened.
        guard let store = try? SampleStore.open(at: folder, options: options) else { return }
        defer { try? store.close() }
        try UnknownType.refuse(type, in: [store])
    }

    /// Whether a finding may be about what was asked.
    ///
    /// - Parameter lostMetas: how many meta pages lead nowhere.
    func takes(_ finding: Finding, lostMetas: Int) -> Bool {
        if let table, finding.table != table { return FindingFilter.mayHideTables(finding, lostMetas: lostMetas) }
        guard type != nil || range != .all else { return true }
        // Where it is not known which samples are behind damage, it may be these.
        guard let samples = finding.samples else { return FindingFilter.mayHideSamples(finding) }
        if let type, samples.type != type { return false }
        return samples.starts.from < range.to && samples.starts.to > range.from
    }
}

extension CheckVerb.Findings {
    fileprivate init(
        _ report: CheckReport, _ filter: FindingFilter, from first: CheckPart, limit: Int, showsValues: Bool
    ) {
        let lostMetas = FindingFilter.lostMetas(report.findings)
        let wanted = report.findings.filter { filter.takes($0, lostMetas: lostMetas) }
        // Findings of one severity stay in the order of the check.
        let sorted = wanted.enumerated().sorted {
            ($0.element.kind.severity, $0.offset) < ($1.element.kind.severity, $1.offset)
        }
        list = sorted.prefix(limit).map { CheckVerb.record($0.element, filter.zone, showsValues: showsValues) }
        stoppedAt = report.stoppedAt
        others = filter.isActive ? report.findings.count - wanted.count : nil
        omitted = report.omitted + wanted.count - list.count
        let passed = CheckPart.allCases.prefix { $0 != first }.dropFirst().map { "\($0.rawValue): passed over" }
        // Without a meta page nothing leads to a sample.
        samples = lostMetas > 1 ? nil : report.samples
        unexamined = passed + report.unexamined
        resumedAt = first == .pages ? nil : first
        isOfNewerRelease = report.isOfNewerRelease && !wanted.isEmpty
    }
}
