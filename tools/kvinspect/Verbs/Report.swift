import HealthKV

/// `kvinspect report STORE -o FILE.html`
enum ReportVerb: Verb {
    static let description = VerbDescription(
        name: "report",
        abstract: "Write a page on a store: health of the file, storage, types over time, sources, sync.",
        discussion:
            "The page is one HTML file that loads nothing. It shows counts and times, no health value. The store is checked "
            + "as by 'check'; a damaged one still gives a report of what can be read, and code 2.",
        arguments: [.store],
        options: [
            OptionDescription(
                name: "output", short: "o", value: "file",
                help: "The page to write, such as report.html, or - for the output.",
                isRequired: true),
            OptionDescription(name: "force", help: "Replace the file if it exists."), .format, .zone, .progress,
        ])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let name = arguments.text("output") ?? ""
        guard !name.isEmpty else {
            throw arguments.invalid("output", reason: "Please provide a name such as report.html.")
        }
        guard StoreAccess.holdsStore(arguments.store) else { throw StoreAccess.noStore(in: arguments.store) }
        let file =
            name == "-" ? nil : try NewFile(name, replaces: arguments.flag("force"), outside: arguments.store)
        let outcome = try WatchedProcess.run()
        switch outcome {
        case .ended(let code): return code
        case .stopped(let signal):
            try Interruption.check()
            throw Failure("The report was ended by signal \(signal) before it was done.")
        case .crashed:
            // Clear the progress line that the child left.
            if console.showsBars { console.showBar("") }
        case nil: if let file { console.say("Writing \(file.path); \(arguments.store) is only read.") }
        }
        let progress = Progress(arguments, console, unit: "%", total: 100)
        let facts = try ReportCollector.collect(
            arguments.store, zone, isCutShort: outcome == .crashed, progress)
        let page = ReportPage.bytes(of: facts)
        try Interruption.check()
        progress.finish(at: 100)
        try OutputClosed.end {
            if let file {
                try file.write(page)
                try print(facts, page.count, file, arguments, console)
            } else {
                try console.write(page)
            }
        }
        return facts.health.code
    }

    private static func print(
        _ facts: StoreFacts, _ bytes: Int, _ file: NewFile, _ arguments: ParsedArguments, _ console: Console
    ) throws {
        let fields: [JSONValue.Field] = [
            .init("file", .string(file.path)), .init("bytes", .count(bytes)), .init("samples", .count(facts.samples)),
            .init("types", .count(facts.types.count)), .init("findings", .count(facts.health.count)),
            .init("clean", .bool(facts.health.isClean)),
        ]
        try Answer.print(fields, arguments, console) {
            [
                "\(file.path): \(ReportText.size(bytes)), \(ReportText.count(facts.samples, "sample")) of "
                    + "\(ReportText.count(facts.types.count, "type")). \(facts.health.sentence)"
            ]
        }
    }
}
