import HealthKV

/// Every table as `mdb_dump -a` writes it, byte for byte, for `mdb_load`.
enum RawDump {
    private static let digits = Array("0123456789abcdef".utf8)

    static func print(_ store: SampleStore, _ console: Console, _ progress: Progress) throws {
        let info = try store.info()
        progress.total = info.tables.reduce(0) { $0 + $1.entries }
        try store.read { transaction in
            for table in transaction.tableNames {
                let head = [
                    "VERSION=3", "format=bytevalue", "database=\(table)", "type=btree", "mapsize=\(info.mapSize)",
                    "maxreaders=\(info.maxReaders)", "db_pagesize=\(info.pageSize)", "HEADER=END",
                ]
                for line in head { try console.print(line) }
                try transaction.forEachRecord(ofTable: table) { key, value in
                    var lines: [UInt8] = []
                    lines.reserveCapacity((key.count + value.count + 2) * 2)
                    append(key, to: &lines)
                    append(value, to: &lines)
                    try console.write(lines)
                    try progress.advance()
                }
                try console.print("DATA=END")
            }
        }
        progress.finish()
    }

    /// A space, the bytes as digits, and the end of the line.
    private static func append(_ bytes: [UInt8], to line: inout [UInt8]) {
        line.append(0x20)
        for byte in bytes {
            line.append(digits[Int(byte >> 4)])
            line.append(digits[Int(byte & 15)])
        }
        line.append(0x0A)
    }
}
