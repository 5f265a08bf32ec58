import HealthKV

/// `kvinspect check STORE`
enum CheckVerb: Verb {
    static let description = VerbDescription(
        name: "check", abstract: "Check pages, checksums, records and indexes.",
        discussion: "Ends with code 2 when the store is damaged. No finding shows a health value.", arguments: [.store],
        options: [
            OptionDescription(name: "limit", value: "count", help: "At most so many findings.", defaultValue: "1000"),
            .format, .progress,
        ])

    private static let shape = Listing.Shape(key: "findings", columns: ["code", "table", "detail"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let limit = try arguments.count("limit") ?? 1000
        let progress = Progress(arguments, console, unit: "values")
        let findings = try findings(in: arguments.store, limit: limit, progress)
        progress.finish()
        var listing = try Listing(shape, arguments, console)
        for finding in findings {
            try listing.append(
                .object([
                    .init("code", .string(finding.code)), .init("table", .optional(finding.table)),
                    .init("detail", .string(finding.detail)),
                ]))
        }
        try listing.finish([.init("clean", .bool(findings.isEmpty))])
        let count = findings.count == 1 ? "1 finding" : "\(findings.count) findings"
        console.say(findings.isEmpty ? "The store is clean." : "The store is damaged: \(count).")
        return findings.isEmpty ? .clean : .damage
    }

    private struct Line {
        let code: String
        let table: String?
        let detail: String
    }

    /// What the store finds; a store too damaged to be opened is a finding of its own.
    private static func findings(in folder: String, limit: Int, _ progress: Progress) throws -> [Line] {
        do {
            let store = try StoreAccess.openForReading(folder)
            let report = try store.check(limit: limit) { done, total in
                progress.total = total
                try progress.advance(to: done)
            }
            return report.findings.map { Line(code: $0.code, table: $0.table, detail: $0.detail) }
        } catch let error as StoreError where StoreAccess.code(for: error) == .damage {
            return [Line(code: error.code.rawValue, table: nil, detail: error.description)]
        }
    }
}
