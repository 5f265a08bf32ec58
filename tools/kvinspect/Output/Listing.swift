import AppleHealthExport
/// Prints one record after another in the requested format.
struct Listing {
    /// What a list prints, and under which names.
    struct Shape {
        /// The key of the list in the envelope of `--format json`.
        let key: String
        /// Every field a record may have, for `--format csv`.
        let columns: [String]
        /// The fields shown in a table.
        var tableColumns: [String]?
        /// The fields that are numbers of bytes.
        var sizes: Set<String> = []
    }

    /// How much is written at once: enough that calls of the system do not count.
    private static let drainBytes = 1 << 16

    private let console: Console
    private let format: OutputFormat
    private let shape: Shape
    private var table: Table
    private var writer = JSONWriter()

    /// How many records were printed.
    private(set) var count = 0

    private init(_ shape: Shape, _ arguments: ParsedArguments, _ console: Console, _ format: OutputFormat) throws {
        self.console = console
        self.shape = shape
        self.format = format
        table = Table(
            columns: shape.tableColumns ?? shape.columns, sizes: shape.sizes, limit: console.tableWidth,
            isStyled: console.isStyled)
        switch format {
        case .json:
            writer.beginObject()
            writer.fields(Listing.envelope(arguments.verb.name))
            writer.key(shape.key)
            writer.beginArray()
        case .csv: try console.write(CSV.line(shape.columns))
        case .table: try console.beginTable()
        case .jsonl: break
        }
    }

    /// Prints the records that `body` appends, then the fields that it returns. After an error the records appended
    /// before it are still printed, and JSON marks the list as incomplete. The default `format` is that of lists.
    static func print(
        _ shape: Shape, _ arguments: ParsedArguments, _ console: Console, format: OutputFormat? = nil,
        _ body: (inout Listing) throws -> [JSONValue.Field]
    ) throws {
        var listing = try Listing(shape, arguments, console, format ?? arguments.listFormat(console))
        do {
            let trailer = try body(&listing)
            try listing.finish(trailer)
        } catch {
            if !(error is OutputClosed) { try listing.finish(trailer(isComplete: false)) }
            throw error
        }
    }

    /// The fields that follow a list: they mark it if it is incomplete.
    static func trailer(isComplete: Bool) -> [JSONValue.Field] {
        isComplete ? [] : [.init("complete", .bool(false))]
    }

    /// Prints a record for each of `items`, until the output is closed.
    static func print<Item>(
        _ shape: Shape, of items: [Item], isComplete: Bool, _ arguments: ParsedArguments, _ console: Console,
        _ progress: Progress, record: (Item) -> JSONValue
    ) throws {
        try OutputClosed.end {
            try print(shape, arguments, console) { listing in
                for item in items {
                    try listing.append(record(item))
                    try progress.advance()
                }
                return trailer(isComplete: isComplete)
            }
        }
        progress.finish()
    }

    /// The fields that begin every JSON answer.
    static func envelope(_ verb: String) -> [JSONValue.Field] {
        [.init("kvinspect", .integer(ToolVersion.contract)), .init("verb", .string(verb))]
    }

    mutating func append(_ record: JSONValue) throws {
        try append {
            $0.value(record)
        } tree: {
            record
        }
    }

    /// Appends a record that knows how to write itself.
    mutating func append(_ record: some JSONRecord) throws {
        try append {
            record.write(to: &$0)
        } tree: {
            var builder = JSONTreeBuilder()
            record.write(to: &builder)
            return builder.value
        }
    }

    /// Appends the record that `write` encodes; the format must be JSON. A `write` that throws must write nothing.
    mutating func appendJSON(_ write: (inout JSONWriter) throws -> Void) throws {
        try write(&writer)
        count += 1
        if format == .jsonl { writer.newline() }
        if writer.bytes.count >= Listing.drainBytes { try drain() }
    }

    private mutating func append(_ write: (inout JSONWriter) -> Void, tree: () -> JSONValue) throws {
        count += 1
        switch format {
        case .json: write(&writer)
        case .jsonl:
            write(&writer)
            writer.newline()
        case .csv: try console.write(CSV.line(row(tree(), shape.columns).map { Table.clean($0.cell) }))
        case .table:
            for line in table.append(row(tree(), shape.tableColumns ?? shape.columns)) { try console.print(line) }
        }
        if writer.bytes.count >= Listing.drainBytes { try drain() }
    }

    /// Ends the list. `trailer` follows it in the envelope.
    private mutating func finish(_ trailer: [JSONValue.Field]) throws {
        if format == .json {
            writer.endArray()
            writer.fields(trailer)
            writer.endObject()
            writer.newline()
        }
        for line in table.finish() { try console.print(line) }
        try drain()
    }

    /// Writes all appended records to the output now.
    mutating func flush() throws {
        try drain()
        try console.flush()
    }

    private mutating func drain() throws {
        try console.write(writer.bytes)
        writer.removeAll()
    }

    private func row(_ record: JSONValue, _ columns: [String]) -> [JSONValue] {
        let fields = record.flattened
        return columns.map { name in
            fields.first { $0.key == name }?.value ?? record[name] ?? .null
        }
    }
}

/// Something that is printed as one JSON object.
protocol JSONRecord {
    func write(to sink: inout some JSONSink)
}

/// Prints the one object that is a verb's whole answer.
enum Answer {
    static func print(
        _ fields: [JSONValue.Field], _ arguments: ParsedArguments, _ console: Console, table: () -> [String]
    ) throws {
        var writer = JSONWriter()
        switch arguments.format {
        case .json:
            writer.value(.object(Listing.envelope(arguments.verb.name) + fields))
            writer.newline()
            try console.write(writer.bytes)
        case .jsonl:
            writer.value(.object(fields))
            writer.newline()
            try console.write(writer.bytes)
        case .csv:
            let cells = JSONValue.object(fields).flattened
            try console.write(CSV.line(cells.map(\.key)))
            try console.write(CSV.line(cells.map { Table.clean($0.value.cell) }))
        case .table:
            try console.beginTable()
            for line in table() { try console.print(line) }
        }
    }
}
