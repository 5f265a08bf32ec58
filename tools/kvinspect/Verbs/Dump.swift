import HealthKV

/// `kvinspect dump STORE`
enum DumpVerb: Verb {
    static let description = VerbDescription(
        name: "dump", abstract: "Print the whole store as JSON Lines that 'load' reads back.",
        discussion: "One live sample a line with all its fields, ordered by type, start, end and id; times are in UTC.",
        arguments: [.store],
        options: [
            OptionDescription(
                name: "raw", help: "Print every table in the text format of mdb_dump instead, for mdb_load."),
            .progress,
        ])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let store = try StoreAccess.openForReading(arguments.store)
        let progress = Progress(arguments, console, unit: "samples")
        try store.read { transaction in
            progress.total = try transaction.count()
            var writer = JSONWriter()
            writeHead(try transaction.sources().map(\.source), to: &writer)
            try transaction.forEachLiveSample { sample in
                SampleRecord(sample: sample, detail: .lossless).write(to: &writer)
                writer.newline()
                try progress.advance()
                if writer.bytes.count >= 1 << 15 {
                    try console.write(writer.bytes)
                    writer.removeAll()
                }
            }
            try console.write(writer.bytes)
        }
        progress.finish()
        return .clean
    }

    /// The first line: what this is, and the sources in the order in which the store saw them, which ranks them.
    private static func writeHead(_ sources: [SourceIdentity], to writer: inout JSONWriter) {
        writer.beginObject()
        writer.fields([.init("kvinspect", .integer(Tool.contractVersion)), .init("dump", .integer(DumpHead.version))])
        writer.key("sources")
        writer.beginArray()
        for source in sources {
            writer.beginObject()
            writer.field("name", source.name)
            if !source.bundle.isEmpty { writer.field("bundle", source.bundle) }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        writer.newline()
    }
}

/// The first line of a dump.
enum DumpHead {
    /// The version of the lines that follow. A greater one is refused.
    static let version: Int64 = 1
}
