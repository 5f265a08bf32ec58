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
        let progress = Progress(arguments, console, unit: "%", total: 100)
        let result = try check(arguments.store, limit: limit, progress)
        progress.finish()
        let count = result.findings.count + result.omitted
        let showsValues = arguments.flag("show-values")
        try Listing.print(shape, arguments, console) { listing in
            for finding in result.findings {
                let reference = showsValues ? finding.reference.map { " (\($0))" } ?? "" : ""
                try listing.append(
                    .object([
                        .init("code", .string(finding.kind.rawValue)), .init("table", .string(finding.table)),
                        .init("detail", .string(finding.detail + reference)),
                    ]))
            }
            return [
                .init("clean", .bool(count == 0)), .init("omitted", .count(result.omitted)),
                .init("samples", .count(result.samples)),
                .init("unexamined", .array(result.unexamined.map { .string($0) })),
            ]
        }
        for part in result.unexamined { console.say("Not looked at: \(part).") }
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
