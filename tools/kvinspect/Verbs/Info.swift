import HealthKV

/// `kvinspect info STORE`
enum InfoVerb: Verb {
    static let description = VerbDescription(
        name: "info", abstract: "Show a store's identity, sizes, tables and readers.",
        discussion:
            "Of a store that is too damaged to be opened, it shows what the meta pages and the header say, and ends "
            + "with code 2.", arguments: [.store],
        options: [.format, .zone, .progress])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        // No field is a date by now; a wrong zone is wrong all the same.
        _ = try arguments.zone()
        let progress = Progress(arguments, console, unit: "tables")
        let (info, token): (StoreInfo, ChangeToken)
        do {
            let store = try StoreAccess.openForCopying(arguments.store)
            (info, token) = (try store.info(), try store.read { $0.currentToken })
        } catch let error as StoreError where error.code == .damaged {
            progress.finish()
            return try DamagedInfo(arguments.store, error).print(arguments, console)
        }
        try progress.advance(to: info.tables.count)
        progress.finish()
        try Answer.print(fields(info, token: token, folder: arguments.store), arguments, console) {
            summary(info, token: token, folder: arguments.store) + [""] + tables(info, console)
        }
        return .clean
    }

    private static func fields(_ info: StoreInfo, token: ChangeToken, folder: String) -> [JSONValue.Field] {
        [
            .init("store", .string(folder)), .init("identity", .string(info.storeID.description)),
            .init("replica", .integer(Int64(info.replica))), .init("epoch", .integer(Int64(info.epoch))),
            .init("format_version", .integer(Int64(info.formatVersion))), .init("sealed", .bool(info.isSealed)),
            .init("samples", count(info.samples, info)), .init("types", count(info.types, info)),
            .init("sources", count(info.sources, info)), .init("tombstones", .count(info.tombstones)),
            .init("pending", count(info.pending, info)), .init("unfinished", .count(info.unfinished)),
            .init("commit", .integer(Int64(info.commit))), .init("token", .string(token.description)),
            .init("bytes_per_sample", bytesPerSample(info)),
            .init(
                "file",
                .object([
                    .init("bytes", .count(info.fileBytes)), .init("live_bytes", .count(info.liveBytes)),
                    .init("free_pages", .count(info.freePages)), .init("page_size", .count(info.pageSize)),
                    .init("map_bytes", .count(info.mapSize)),
                    .init("last_transaction", .integer(Int64(info.lastTransaction))),
                ])),
            .init("tables", .array(info.tables.map { table($0, pageSize: info.pageSize) })),
            .init(
                "readers",
                .array(
                    info.otherReaders.map {
                        .object([
                            .init("process", .integer(Int64($0.process))),
                            .init("transaction", .optional($0.transaction)),
                        ])
                    })),
        ]
    }

    /// A number that the content of the store tells; `null` where its key is missing.
    private static func count(_ count: Int, _ info: StoreInfo) -> JSONValue { info.lacksKey ? .null : .count(count) }

    private static func table(_ table: StoreInfo.TableInfo, pageSize: Int) -> JSONValue {
        .object([
            .init("name", .string(table.name)), .init("entries", .count(table.entries)),
            .init("branch_pages", .count(table.branchPages)), .init("leaf_pages", .count(table.leafPages)),
            .init("overflow_pages", .count(table.overflowPages)), .init("bytes", .count(table.payloadBytes)),
            .init("fill", fill(table, pageSize: pageSize)),
        ])
    }

    /// The share of a table's pages that holds its entries, to three decimals.
    private static func fill(_ table: StoreInfo.TableInfo, pageSize: Int) -> JSONValue {
        guard table.pages > 0 else { return .null }
        return .double((Double(table.payloadBytes) / Double(table.pages * pageSize) * 1000).rounded() / 1000)
    }

    private static func bytesPerSample(_ info: StoreInfo) -> JSONValue {
        guard info.samples > 0 else { return .null }
        return .double((Double(info.fileBytes) / Double(info.samples) * 1000).rounded() / 1000)
    }

    private static func summary(_ info: StoreInfo, token: ChangeToken, folder: String) -> [String] {
        let rows = [
            ("store", folder), ("identity", info.storeID.description),
            ("replica, epoch", "\(info.replica), \(info.epoch)"), ("format version", "\(info.formatVersion)"),
            (
                "samples",
                info.lacksKey
                    ? "the store is sealed, and only its app has the key"
                    : "\(info.samples) of \(info.types) types from \(info.sources) sources"
            ),
            ("bytes per sample", bytesPerSample(info).cell),
            ("file", "\(ByteSize.text(info.fileBytes)), \(ByteSize.text(info.liveBytes)) of them live"),
            ("free pages", "\(info.freePages) of \(ByteSize.text(info.pageSize))"),
            ("map", ByteSize.text(info.mapSize)),
            ("last transaction", "\(info.lastTransaction), commit \(info.commit)"), ("token", token.description),
            ("pending", info.lacksKey ? "" : "\(info.pending) operations"), ("readers", "\(info.otherReaders.count)"),
        ]
        let width = (rows.map(\.0.count).max() ?? 0) + 2
        return rows.map { $0.0 + String(repeating: " ", count: width - $0.0.count) + Table.clean($0.1) }
    }

    private static func tables(_ info: StoreInfo, _ console: Console) -> [String] {
        let columns = ["name", "entries", "branch_pages", "leaf_pages", "overflow_pages", "bytes", "fill"]
        var table = Table(
            columns: columns, sizes: ["bytes"], limit: console.tableWidth, isStyled: console.isStyled)
        var lines: [String] = []
        for entry in info.tables {
            let record = Self.table(entry, pageSize: info.pageSize)
            lines += table.append(columns.map { record[$0] ?? .null })
        }
        return lines + table.finish()
    }
}
