import HealthKV

/// Both meta pages as the tool prints them.
enum MetaFields {
    static func records(of folder: String) throws -> [JSONValue.Field] {
        let metas = try PageListing.metas(of: folder)
        return [
            .init(
                "metas",
                .array(
                    metas.pages.enumerated().map { index, meta in
                        guard let meta else {
                            return .object([.init("meta", .count(index)), .init("state", .string("unreadable"))])
                        }
                        return .object([
                            .init("meta", .count(index)),
                            .init("state", .string(index == metas.newest ? "newest" : "older")),
                            .init("transaction", .integer(Int64(clamping: meta.transaction))),
                            .init("version", .integer(Int64(meta.version))), .init("page_size", .count(meta.pageSize)),
                            .init("last_page", .integer(Int64(clamping: meta.lastPage))),
                            .init("map_bytes", .integer(Int64(clamping: meta.mapSize))),
                            .init("main_root", root(meta.mainRoot)), .init("free_root", root(meta.freeRoot)),
                            .init("tables", .integer(Int64(clamping: meta.tables))),
                        ])
                    })), .init("findings", .array(metas.findings.map { .string($0) })),
        ]
    }

    private static func root(_ number: UInt64) -> JSONValue { Int64(exactly: number).map { .integer($0) } ?? .null }

    static func isSound(_ fields: [JSONValue.Field]) -> Bool {
        fields.first { $0.key == "findings" }?.value == .array([])
    }
}
