import HealthKV

/// `kvinspect load STORE [FILE]`
enum LoadVerb: Verb {
    /// Lines that one durable commit takes: many enough to be fast, few enough to be held twice.
    static let batchRows = 32_768
    /// Bad lines that are named one by one.
    static let namedLines = 20

    static let description = VerbDescription(
        name: "load", abstract: "Store what 'dump' wrote, or lines written by hand; make the store if there is none.",
        discussion:
            "A line is a JSON object. Type, start, value and unit suffice; the end is then the start, a source may "
            + "be a name, and the id is minted. A bad line stops the verb and is named by its number; nothing of its "
            + "batch is stored.",
        arguments: [
            .store,
            ArgumentDescription(name: "file", help: "The lines; - or nothing means the input.", isOptional: true),
        ],
        options: [
            OptionDescription(name: "skip-bad", help: "Leave bad lines out, go on and count them."), .format, .zone,
            .progress,
        ])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        let file = arguments.optionalArgument("file") ?? "-"
        let input = try InputPieces(file)
        let verb = StoreAccess.holdsStore(arguments.store) ? "Loading into" : "Making"
        console.say("\(verb) the store in \(arguments.store).")
        let store = try StoreAccess.openForLoading(arguments.store)
        let progress = Progress(arguments, console, unit: "bytes", total: input.size)
        var loader = Loader(store: store, input: input, zone: zone)
        while try loader.loadBatch(skipBad: arguments.flag("skip-bad")) { try progress.advance(to: loader.bytesRead) }
        progress.finish()
        try report(loader, arguments, console)
        return .clean
    }

    private static func report(_ loader: Loader, _ arguments: ParsedArguments, _ console: Console) throws {
        for bad in loader.named { console.say("Line \(bad.line) was left out: \(bad.reason).") }
        let counts = loader.report
        let fields: [(String, Int)] = [
            ("lines", loader.lines), ("inserted", counts.inserted), ("replaced", counts.replaced),
            ("unchanged", counts.unchanged), ("older", counts.older), ("vetoed", counts.vetoed), ("bad", loader.bad),
        ]
        try Answer.print(fields.map { .init($0.0, .count($0.1)) }, arguments, console) {
            [
                fields.filter { $0.0 != "lines" && $0.1 > 0 || $0.0 == "inserted" }.map { "\($0.1) \($0.0)" }
                    .joined(separator: ", ")
            ]
        }
    }
}

/// Stores lines batch by batch.
private struct Loader {
    private let store: SampleStore
    private let zone: Zone
    private var input: InputLines
    private var reader: LineReader
    private var batch = SampleBatch()

    private(set) var report = ImportReport()
    /// How many lines were left out, and the first of them.
    private(set) var bad = 0
    private(set) var named: [(line: Int, reason: String)] = []

    init(store: SampleStore, input: InputPieces, zone: Zone) {
        self.store = store
        self.zone = zone
        self.input = InputLines(input)
        reader = LineReader(zone: zone)
    }

    var lines: Int { input.number }
    var bytesRead: Int { input.bytesRead }

    /// Reads and stores the next batch; `false` when there was none.
    mutating func loadBatch(skipBad: Bool) throws -> Bool {
        batch.removeAll()
        if reader.isFull {
            reader = LineReader(zone: zone)
            batch = SampleBatch()
        }
        var sawLine = false
        while batch.count < LoadVerb.batchRows, try readLine(skipBad: skipBad) { sawLine = true }
        try Interruption.check()
        if !batch.isEmpty { report += try store.importBatch(batch) }
        return sawLine
    }

    private mutating func readLine(skipBad: Bool) throws -> Bool {
        do {
            return try input.next { try reader.read($0, into: &batch) } != nil
        } catch let error as JSONError {
            guard skipBad else {
                throw Failure(
                    "Line \(input.number): \(error.reason). Nothing of its batch was stored; \(report.inserted) samples of earlier ones were inserted. Correct the line, or pass --skip-bad."
                )
            }
            bad += 1
            if named.count < LoadVerb.namedLines { named.append((input.number, error.reason)) }
            return true
        }
    }
}
