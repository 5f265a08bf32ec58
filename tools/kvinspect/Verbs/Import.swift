import AppleHealthExport
import HealthKV
import LMDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `kvinspect import STORE FILE`
enum ImportVerb: Verb {
    static let description = VerbDescription(
        name: "import",
        abstract:
            "Import an export of Apple Health: archive, folder, XML or the input; make the store if there is none.",
        discussion:
            "A record that the store holds, in whatever unit, is left as it is; what was deleted here stays away. So a file may "
            + "be imported again, and a later export brings only what is new. An import that was interrupted goes on when it is "
            + "run again. Elements with defects are mended where their values are certain; other parts go to --quarantine, and "
            + "the verb ends with code 5.",
        arguments: [
            .store,
            ArgumentDescription(
                name: "file", help: "export.zip, the folder or the XML in it, or - for the input.", kind: .file),
        ],
        options: [
            OptionDescription(
                name: "map", value: "map",
                help: "The file is a table; its rows become samples by this map, a file or a name such as healthkv.",
                kind: .file),
            OptionDescription(
                name: "quarantine", value: "file", help: "Write what was not taken to this file, as JSON Lines.",
                kind: .file),
            OptionDescription(name: "force", help: "Replace the file of --quarantine if it exists."),
            OptionDescription(name: "dry-run", help: "Only tell what an import would do."),
            OptionDescription(
                name: "types", value: "types", help: "Only these types, such as stepCount,bodyMass.", kind: .type),
            .from, .to,
            OptionDescription(name: "source", value: "source", help: "Only records of this source, by its name."),
            .format, .zone, .progress,
        ])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let zone = try arguments.zone()
        var task = HealthImport()
        task.types = try arguments.types()
        task.sources = arguments.text("source").map { [$0] }
        task.range = try arguments.orderedRange(in: zone)
        let isDry = arguments.flag("dry-run")
        task.map = try arguments.map()
        let file = arguments.argument("file")
        guard !arguments.flag("force") || arguments.text("quarantine") != nil else {
            throw UsageError("--force belongs to --quarantine", verb: description)
        }
        let quarantine = try arguments.text("quarantine").map {
            try refuse($0, asPartOf: file)
            if let map = arguments.text("map"), ImportMap.shipped(map) == nil { try refuse($0, asPartOf: map) }
            return try QuarantineFile($0, replaces: arguments.flag("force"), outside: arguments.store)
        }
        let made = StoreAccess.holdsStore(arguments.store) ? nil : NewStore(arguments.store)
        // A type is refused before a store is made for it.
        if let types = task.types {
            let known = try made == nil ? [StoreAccess.reopenForReading(arguments.store)] : []
            // Closed before the store is opened for writing.
            defer { for store in known { try? store.close() } }
            for type in types { try UnknownType.refuse(type, in: known, orFile: true) }
        }
        try refuseMissing(file)
        let store: SampleStore?
        // What an import does to records depends on those before them, so a dry run is an import elsewhere.
        let copy: TemporaryCopy? =
            try !isDry
            ? nil : made == nil ? TemporaryCopy(of: arguments.store) : TemporaryCopy(inPlaceOf: arguments.store)
        defer { copy?.remove() }
        if isDry {
            console.say("Nothing is stored in \(arguments.store); a temporary copy takes the samples.")
            store = copy?.store
        } else {
            console.say("\(made == nil ? "Importing into" : "Making") the store in \(arguments.store).")
            store = try StoreAccess.openForLoading(arguments.store)
        }
        let progress = Progress(arguments, console, unit: "bytes")
        if file == "-" || !FileSystem.isFile(file) && !FileSystem.isFolder(file) {
            Interruption.endWhileWaiting {
                copy?.remove()
                if let store, !isDry { made?.removeIfEmpty(store) }
            }
        }
        let report: HealthImportReport
        do {
            report = try task.run(
                file, into: store, quarantine: { try quarantine?.append($0) },
                progress: {
                    progress.total = $0.total
                    try progress.advance(to: $0.bytes)
                })
        } catch {
            if let store, !isDry { made?.removeIfEmpty(store) }
            throw Failure.of(copy?.naming(error) ?? error, file)
        }
        progress.finish()
        try quarantine?.finish()
        try print(report, file, arguments, console)
        return report.quarantined == 0 && !report.isCutOff ? .clean : .partial
    }

    /// Refuses a file that is not there or may not be read, before a store is made for it.
    private static func refuseMissing(_ file: String) throws {
        // The input is open, a folder is read file by file, and a pipe must not be opened in vain.
        guard file != "-", FileSystem.isFile(file) || FileSystem.identity(of: file) == nil else { return }
        _ = try FileSource(path: file)
    }

    /// Refuses a file to write that is what is read, or stands in the folder that is read.
    private static func refuse(_ output: String, asPartOf input: String) throws {
        guard let identity = FileSystem.identity(of: input == "-" ? "/dev/stdin" : input) else { return }
        var path = URL(fileURLWithPath: output).standardizedFileURL.path
        // A folder is read with all that is in it.
        while FileSystem.identity(of: path) != identity {
            if path == "/" { return }
            path = FileSystem.parent(of: path)
        }
        throw Failure("\(output) is part of what is imported, \(input). Choose another name for --quarantine.")
    }

    private static func print(
        _ report: HealthImportReport, _ file: String, _ arguments: ParsedArguments, _ console: Console
    ) throws {
        let isOnlyFilter = ["types", "from", "to", "map"].allSatisfy { arguments.text($0) == nil }
        if let source = arguments.text("source"), isOnlyFilter, report.read > 0, report.read == report.skipped {
            console.say("No record is of the source '\(Table.clean(source))'. It must be a sourceName of the file.")
        }
        if report.isCutOff { console.say("\(file) ends before its last element: the rest of it is missing.") }
        let counts: [(String, Int)] = [
            ("read", report.read), ("inserted", report.inserted), ("replaced", report.replaced),
            ("unchanged", report.unchanged), ("vetoed", report.vetoed), ("mended", report.mended),
            ("quarantined", report.quarantined), ("skipped", report.skipped), ("totals", report.totals),
        ]
        let keptOut = report.keptOut.sorted { $0.key < $1.key }
        var fields = counts.map { JSONValue.Field($0.0, .count($0.1)) }
        fields.append(.init("cut_off", .bool(report.isCutOff)))
        fields.append(
            .init(
                "kept_out",
                .array(
                    keptOut.map {
                        .object([
                            .init("kind", .string($0.key)), .init("count", .count($0.value.count)),
                            .init("bytes", .count($0.value.bytes)),
                        ])
                    })))
        try Answer.print(fields, arguments, console) {
            let first = counts.filter { $0.1 > 0 || $0.0 == "read" || $0.0 == "inserted" }
                .map { "\($0.1) \($0.0)" }.joined(separator: ", ")
            let others = keptOut.map { "\($0.value.count) \($0.key), \(ByteSize.text($0.value.bytes))" }
            return others.isEmpty ? [first] : [first, "Not imported: \(others.joined(separator: "; "))"]
        }
    }
}

extension ParsedArguments {
    /// The types of a list such as `stepCount,bodyMass`; `nil` for all.
    func types() throws -> Set<SampleType>? {
        try convert("types", reason: "Please provide types such as stepCount,bodyMass.") { text in
            let names = text.split(separator: ",", omittingEmptySubsequences: false)
            return names.contains(where: \.isEmpty) ? nil : Set(names.map { SampleType(String($0)) })
        }
    }
}

extension ParsedArguments {
    /// The map by which a table is read; `nil` if none was asked for. Local times without a zone are in that of --tz.
    fileprivate func map() throws -> ImportMap? {
        guard let name = text("map") else { return nil }
        var map: ImportMap
        if let shipped = ImportMap.shipped(name) {
            map = shipped
        } else if let bytes = FileManager.default.contents(atPath: name) {
            do {
                map = try ImportMap(json: Array(bytes))
            } catch {
                throw Failure("\(name): \(error)")
            }
        } else {
            throw Failure(
                "\(name) is no file and no map of this tool, which has \(ImportMap.shippedNames.joined(separator: ", "))."
            )
        }
        if map.needsZone { try map.setZone(text(OptionDescription.zone.name) ?? TimeZone.current.identifier) }
        return map
    }
}

extension Failure {
    /// An error of reading a file, which names the file.
    fileprivate static func of(_ error: any Error, _ file: String) -> any Error {
        guard error is HealthImportError || error is ImportMapError else { return error }
        return Failure("\(file): \(error)")
    }
}

/// Takes the parts of a file that were not imported.
final class QuarantineFile {
    private let file: NewFile
    private var lines: [UInt8] = []

    /// So many bytes are kept; a file with more is not worth reading.
    private static let most = 64 << 20
    private var left = 0

    init(_ path: String, replaces: Bool, outside store: String) throws {
        file = try NewFile(path, replaces: replaces, outside: store)
    }

    func append(_ part: HealthImport.QuarantinedPart) throws {
        guard lines.count < QuarantineFile.most else {
            left += 1
            return
        }
        var writer = JSONWriter()
        let text = String(validating: part.bytes, as: UTF8.self)
        let digits = Array("0123456789abcdef".utf8)
        writer.value(
            .object([
                .init("offset", .count(part.offset)), .init("line", .optional(part.line)),
                .init("reason", .string(part.reason)),
                text.map { .init("bytes", .string($0)) }
                    ?? .init(
                        "hex",
                        .string(
                            String(
                                decoding: part.bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
                                as: UTF8.self))),
            ]))
        lines += writer.bytes
        lines.append(0x0A)
    }

    func finish() throws {
        if left > 0 {
            var writer = JSONWriter()
            writer.value(.object([.init("left_out", .count(left))]))
            lines += writer.bytes
            lines.append(0x0A)
        }
        try file.write(lines)
    }
}
