import HealthKV

/// The option of `pages` and `page` that chooses a snapshot.
private let metaOption = OptionDescription(
    name: "meta", value: "page",
    help:
        "The snapshot of this meta page: the older one leads to the previous transaction, some of whose pages may have "
        + "been used again.", choices: ["0", "1"], defaultValue: "the newest that is sound")

/// `kvinspect pages STORE`
enum PagesVerb: Verb {
    private static let states = ["used", "free", "lost", "stale"]

    static let description = VerbDescription(
        name: "pages", abstract: "List the pages of the data file, and what each is used for.",
        discussion:
            "Used pages belong to the trees, free ones are listed for reuse, nothing accounts for lost ones, and "
            + "stale ones lie behind the last page. The commit is the greatest of the values that begin on the page. Ends "
            + "with code 2 if the trees are damaged; what can still be reached is listed.",
        arguments: [.store],
        options: [
            metaOption,
            OptionDescription(
                name: "table", value: "name",
                help: "Only pages of this table; the tree of tables is <main>, that of free pages <free>."),
            OptionDescription(name: "state", value: "state", help: "Only pages in this state.", choices: states),
            OptionDescription(name: "limit", value: "count", help: "At most so many pages."),
            .format, .progress,
        ])

    private static let shape = Listing.Shape(
        key: "pages", columns: ["page", "kind", "table", "depth", "entries", "fill", "commit", "state"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        guard StoreAccess.holdsStore(arguments.store) else { throw StoreAccess.noStore(in: arguments.store) }
        let limit = try arguments.count("limit") ?? .max
        let (table, state) = (arguments.text("table"), arguments.text("state"))
        if let table { try UnknownTable.refuse(table) }
        let progress = Progress(arguments, console, unit: "pages")
        var findings: [String] = []
        try OutputClosed.end {
            try PageListing.read(arguments.store, meta: arguments.meta) { list in
                progress.total = Int(clamping: list.pages)
                findings = list.findings
                try Listing.print(shape, arguments, console) { listing in
                    try list.forEachPage { page in
                        try progress.advance()
                        guard table.map({ $0 == page.table }) ?? true, state.map({ $0 == page.state.rawValue }) ?? true
                        else { return true }
                        guard listing.count < limit else { return false }
                        try listing.append(PageFields.record(page))
                        return true
                    }
                    return [
                        .init("page_size", .count(list.pageSize)), .init("meta", .count(list.meta)),
                        .init("transaction", .integer(Int64(clamping: list.transaction))),
                        .init("findings", .array(findings.map { .string($0) })),
                    ]
                }
            }
        }
        progress.finish()
        for finding in findings { console.say(finding) }
        return findings.isEmpty ? .clean : .damage
    }
}

/// `kvinspect page STORE N`
enum PageVerb: Verb {
    private static let number = ArgumentDescription(
        name: "number", help: "The number of the page; 0 and 1 are the metas.")

    static let description = VerbDescription(
        name: "page", abstract: "Show one page of the data file, decoded.",
        discussion: "A meta page shows both. Of values only the header is shown: its table, commit and length.",
        arguments: [.store, number],
        options: [
            metaOption,
            OptionDescription(
                name: "show-values", help: "Also show keys and values, in hexadecimal: they hold health data."),
            .format, .progress,
        ])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let text = arguments.argument(number.name)
        guard let number = UInt64(text) else {
            throw UsageError(
                "The value '\(text)' is invalid for '<number>'. Please provide a page number.", verb: description)
        }
        guard StoreAccess.holdsStore(arguments.store) else { throw StoreAccess.noStore(in: arguments.store) }
        let progress = Progress(arguments, console, unit: "pages", total: 1)
        if number < 2 {
            let metas = try MetaFields.records(of: arguments.store)
            progress.finish(at: 1)
            try print(
                [.init("page", .integer(Int64(number))), .init("kind", .string("meta"))] + metas, arguments, console)
            return MetaFields.isSound(metas) ? .clean : .damage
        }
        var fields: [JSONValue.Field] = []
        var isDamaged = false
        do {
            try PageListing.read(arguments.store, meta: arguments.meta) { list in
                guard number < list.pages else {
                    throw Failure(
                        list.pages == 0
                            ? "The file has no whole page of \(list.pageSize) bytes."
                            : "The file has pages 0 to \(list.pages - 1) of \(list.pageSize) bytes.")
                }
                let page = list.page(number)
                // A page that a tree leads to and that is no page, or one that nothing accounts for.
                isDamaged = page.kind == .other && (page.state == .lost || page.state == .used)
                fields = PageFields.fields(of: page)
                fields += PageFields.fields(
                    of: list.contents(of: number), page, showsValues: arguments.flag("show-values"))
            }
        } catch let error as StoreError where error.code == .damaged && arguments.meta == nil {
            guard let (page, contents) = try PageListing.loosePage(number, of: arguments.store) else { throw error }
            console.say(StoreAccess.text(for: error))
            isDamaged = true
            fields = PageFields.fields(of: page)
            fields += PageFields.fields(of: contents, page, showsValues: arguments.flag("show-values"))
        }
        progress.finish(at: 1)
        try print(fields, arguments, console)
        return isDamaged ? .damage : .clean
    }

    private static func print(_ fields: [JSONValue.Field], _ arguments: ParsedArguments, _ console: Console) throws {
        try Answer.print(fields, arguments, console) { fields.flatMap { PageFields.lines(of: $0, console) } }
    }
}

extension ParsedArguments {
    /// The meta page that was asked for.
    fileprivate var meta: Int? { text(metaOption.name).flatMap { Int($0) } }
}

/// Pages as the tool prints them.
enum PageFields {
    static func record(_ page: PageInfo) -> JSONValue { .object(fields(of: page)) }

    static func fields(of page: PageInfo) -> [JSONValue.Field] {
        [
            .init("page", .integer(Int64(clamping: page.number))), .init("kind", .string(page.kind.rawValue)),
            .init("table", .optional(page.table)), .init("depth", .optional(page.depth)),
            .init("entries", .optional(page.entries)),
            .init("fill", page.fill.map { .double(($0 * 1000).rounded() / 1000) } ?? .null),
            .init("commit", page.commit.map { .integer(Int64(clamping: $0)) } ?? .null),
            .init("state", .string(page.state.rawValue)),
        ]
    }

    static func fields(of contents: PageContents, _ page: PageInfo, showsValues: Bool) -> [JSONValue.Field] {
        var fields: [JSONValue.Field] = []
        if !contents.children.isEmpty {
            fields.append(
                .init(
                    "children",
                    .array(
                        contents.children.map { child in
                            .object(
                                [.init("page", .integer(Int64(clamping: child.page)))]
                                    + (showsValues ? [.init("key", hex(child.key))] : []))
                        })))
        }
        if !contents.tables.isEmpty {
            fields.append(
                .init(
                    "tables",
                    .array(
                        contents.tables.map {
                            .object([
                                .init("name", .string($0.name)), .init("root", root($0.root)),
                                .init("entries", .integer(Int64(clamping: $0.entries))),
                            ])
                        })))
        }
        // The entries of the list of free pages are no values of a store.
        if !contents.values.isEmpty, page.kind != .branch {
            fields.append(.init("values", .array(contents.values.map { value($0, showsValues) })))
        }
        return fields
    }

    /// An empty tree has no root.
    private static func root(_ number: UInt64) -> JSONValue { Int64(exactly: number).map { .integer($0) } ?? .null }

    private static func value(_ value: PageContents.Value, _ showsValues: Bool) -> JSONValue {
        let head: [JSONValue.Field] = [
            .init("table", .optional(value.table)),
            .init("commit", value.commit.map { .integer(Int64(clamping: $0)) } ?? .null),
            .init("key_bytes", .count(value.key.count)), .init("value_bytes", .count(value.count)),
            .init("overflow_page", value.overflowPage.map { .integer(Int64(clamping: $0)) } ?? .null),
        ]
        return .object(head + (showsValues ? [.init("key", hex(value.key)), .init("value", hex(value.bytes))] : []))
    }

    private static func hex(_ bytes: [UInt8]) -> JSONValue { SyncFields.hex(bytes) }

    /// The lines of one field for people: lists as tables.
    static func lines(
        of field: JSONValue.Field, _ console: Console, unknown: String = ""
    ) -> [String] {
        func line(_ key: String, _ value: JSONValue) -> String {
            let isSize = key == "bytes" || key.hasSuffix("_bytes")
            if isSize, case .integer(let bytes) = value { return "\(key)  \(ByteSize.text(Int(bytes)))" }
            return "\(key)  \(value == .null ? unknown : Table.clean(value.cell))"
        }
        if case .object(let parts) = field.value { return parts.map { line("\(field.key).\($0.key)", $0.value) } }
        guard case .array(let items) = field.value else { return [line(field.key, field.value)] }
        guard case .object(let first)? = items.first else {
            return ["", "\(field.key):"] + items.map { "  " + Table.clean($0.cell) }
        }
        var columns = first.map(\.key)
        // What cannot be read has fewer fields than what can.
        for case .object(let fields) in items { columns += fields.map(\.key).filter { !columns.contains($0) } }
        var table = Table(
            columns: columns, sizes: ["map_bytes"], limit: console.tableWidth, isStyled: console.isStyled)
        var lines = ["", "\(field.key):"]
        for item in items { lines += table.append(columns.map { item[$0] ?? .null }) }
        return lines + table.finish()
    }
}
