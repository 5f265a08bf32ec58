import HealthKV

/// What `info` shows of a store that cannot be opened: what its meta pages and its header say.
struct DamagedInfo {
    private let folder: String
    private let reason: String
    private let metas: [JSONValue.Field]
    private let header: PageListing.HeaderInfo?
    private let bytes: Int

    init(_ folder: String, _ error: StoreError) throws {
        self.folder = folder
        reason = StoreAccess.text(for: error)
        metas = try MetaFields.records(of: folder)
        header = try PageListing.header(of: folder)
        bytes = try PageListing.byteCount(of: folder)
    }

    func print(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        try Answer.print(fields, arguments, console) {
            fields.flatMap { PageFields.lines(of: $0, console, unknown: "unknown") }
        }
        console.say("Error: \(Table.clean(reason))")
        return .damage
    }

    private var fields: [JSONValue.Field] {
        [
            .init("store", .string(folder)), .init("damaged", .bool(true)),
            .init("identity", .optional(header?.storeID.description)),
            .init("replica", header.map { .integer(Int64($0.replica)) } ?? .null),
            .init("epoch", header.map { .integer(Int64($0.epoch)) } ?? .null),
            .init("format_version", header.map { .integer(Int64($0.formatVersion)) } ?? .null),
            .init("commit", header.map { .integer(Int64(clamping: $0.commit)) } ?? .null),
            .init("header_transaction", header.map { .integer(Int64(clamping: $0.transaction)) } ?? .null),
            // What only a store that can be opened tells.
            .init("samples", .null), .init("types", .null), .init("pending", .null), .init("bytes_per_sample", .null),
            .init("file", .object([.init("bytes", .count(bytes)), .init("live_bytes", .null)])),
        ] + metas
    }
}
