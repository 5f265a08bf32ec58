import HealthKV

/// `kvinspect load STORE [FILE]`
enum LoadVerb: Verb {
    static let description = VerbDescription(
        name: "load", abstract: "Store what 'dump' wrote, or lines written by hand; make the store if there is none.",
        discussion:
            "A line is a JSON object. Type, start, value and unit suffice; the end is then the start, a source may "
            + "be a name, and the id is minted. A bad line stops the verb and is named by its number; nothing of its "
            + "batch is stored. Then --from-line says where to go on: what is stored must not be loaded again, since lines "
            + "without ids would be doubled. Ends with code 5 when --skip-bad left something out.",
        arguments: [
            .store,
            ArgumentDescription(
                name: "file", help: "The lines; - or nothing means the input.", isOptional: true, kind: .file),
        ],
        options: [
            OptionDescription(name: "from-line", value: "line", help: "Pass over the lines before this one."),
            OptionDescription(name: "skip-bad", help: "Leave bad lines out, go on and count them."), .format, .zone,
            .progress,
        ])

    /// New types that are named one by one.
    private static let mentioned = 10

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let firstLine = try arguments.count("from-line") ?? 1
        guard firstLine > 0 else { throw arguments.invalid("from-line", reason: "Lines are counted from 1.") }
        let file = arguments.optionalArgument("file") ?? "-"
        let input = try InputPieces(file)
        let made = StoreAccess.holdsStore(arguments.store) ? nil : NewStore(arguments.store)
        console.say("\(made == nil ? "Loading into" : "Making") the store in \(arguments.store).")
        let store = try StoreAccess.openForLoading(arguments.store)
        let known = Set(try store.read { try $0.knownTypes() })
        let progress = Progress(arguments, console, unit: "bytes", total: input.size)
        var loader = Loader(store: store, input: input, zone: zone, firstLine: firstLine)
        let counts: ImportReport
        do {
            counts = try loader.loadAll(skipBad: arguments.flag("skip-bad"), progress)
        } catch {
            if !(error is Failure), let line = loader.nextLine {
                console.say("Lines before \(line) are stored. Go on with --from-line \(line).")
            }
            // Lines that hold settings or sync state are stored without a sample, too.
            if loader.nextLine == nil { made?.removeIfEmpty(store) }
            throw error
        }
        progress.finish()
        let new = Set(try store.read { try $0.knownTypes() }).subtracting(known).filter { $0.catalogNumber == nil }
        for type in new.sorted().prefix(mentioned) { console.say(UnknownType.text(ofNew: type)) }
        if new.count > mentioned { console.say("New types that are not named: \(new.count - mentioned).") }
        do {
            try OutputClosed.end {
                try report(counts, loader, arguments, console)
                try console.finish()
            }
        } catch let error as Failure {
            let rest = loader.bad == 0 ? "All lines are" : "All lines but those that were left out are"
            if !loader.endedEarly {
                console.say("\(rest) stored: do not load them again. Only the answer could not be printed.")
            }
            guard loader.bad > 0 else { throw error }
            console.say("Error: \(error.message)")
        }
        return loader.bad == 0 ? .clean : .partial
    }

    private static func report(
        _ counts: ImportReport, _ loader: Loader, _ arguments: ParsedArguments, _ console: Console
    ) throws {
        for bad in loader.named { console.say("Line \(bad.line) was left out: \(bad.reason).") }
        if loader.bad > loader.named.count {
            console.say("\(loader.bad - loader.named.count) more lines were left out.")
        }
        if loader.endedEarly {
            console.say(
                "The input ends with line \(loader.lines), before the one that --from-line names: nothing is loaded.")
        }
        let fields: [(String, Int)] = [
            ("lines", loader.lines), ("inserted", counts.inserted), ("replaced", counts.replaced),
            ("unchanged", counts.unchanged), ("older", counts.older), ("vetoed", counts.vetoed), ("bad", loader.bad),
            ("state", loader.states),
        ]
        try Answer.print(fields.map { .init($0.0, .count($0.1)) }, arguments, console) {
            [
                fields.filter { $0.0 != "lines" && $0.1 > 0 || $0.0 == "inserted" }
                    .map { "\($0.1) \($0.0 == "state" ? "records of sync state" : $0.0)" }
                    .joined(separator: ", ")
            ]
        }
    }
}
