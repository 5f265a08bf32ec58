#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LMDB
import PageReader

/// A file that LMDB wrote: three tables with short and long values, some deleted again, so that it has branch pages,
/// long values and free pages.
struct SampleFile {
    let bytes: [UInt8]
    /// The statistics that LMDB itself reports for the tables.
    let statistics: [String: TableStatistics]
    let freePages: Int
    let lastPage: Int
    let transaction: Int

    static let tables = ["alpha", "beta", "gamma"]

    init(rounds: Int = 30, removing: Bool = true) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/page-reader-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let environment = try Environment(folder: folder, options: .init(mapSize: 64 << 20, scratch: true))
        for round in 0..<rounds { try SampleFile.commit(round, removing, environment) }
        (statistics, freePages, transaction) = try SampleFile.look(environment)
        lastPage = try environment.info().lastPage
        environment.close()
        bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "/data.mdb")))
    }

    private static func commit(_ round: Int, _ removing: Bool, _ environment: Environment) throws {
        var transaction = try environment.beginWrite()
        for (place, name) in tables.enumerated() {
            let table = try environment.openTable(named: name, in: &transaction)
            for item in 0..<40 {
                let number = (round * 40 + item) * 7_919 % 4_001
                let key = Array("key \(number) of \(name)".utf8)
                let length = place == 1 && item % 5 == 0 ? 3_000 + number * 3 : number % 90
                try transaction.put(table, key, [UInt8](repeating: UInt8(number % 251), count: length))
                if removing, item % 3 == 0 {
                    let old = (round * 20 + item) * 7_919 % 4_001
                    try transaction.delete(table, Array("key \(old) of \(name)".utf8))
                }
            }
        }
        try transaction.commit()
    }

    private static func look(_ environment: Environment) throws -> ([String: TableStatistics], Int, Int) {
        let transaction = try environment.beginRead()
        var statistics: [String: TableStatistics] = [:]
        for name in tables {
            guard let table = try environment.openTable(named: name, in: transaction) else { continue }
            statistics[name] = try transaction.view.statistics(table)
        }
        return (statistics, try transaction.view.freeStatistics().freePages, transaction.id)
    }
}

extension SampleFile {
    static let pageSize = 4_096

    func written(to path: String) throws -> PageFile {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return try PageFile(path: path)
    }

    func number16(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }

    /// The numbers of the pages of a kind: 1 is a branch, 2 a leaf, 4 the first page of a long value.
    func pages(kind: Int) -> [Int] {
        stride(from: 2 * SampleFile.pageSize, to: bytes.count, by: SampleFile.pageSize)
            .filter { number16($0 + 10) == kind && bytes[$0] == UInt8(truncatingIfNeeded: $0 / SampleFile.pageSize) }
            .map { $0 / SampleFile.pageSize }
    }

    /// The kinds of findings that the meta pages and a walk report for damaged bytes.
    static func kinds(_ bytes: [UInt8], readsHeaders: Bool = true) -> Set<PageFinding.Kind> {
        let file = PageFile(bytes: bytes)
        let metas = MetaPages(file)
        var kinds = Set(metas.findings.map(\.kind))
        guard let meta = metas.newest else { return kinds }
        var options = SnapshotWalk.Options()
        options.readsOverflowHeaders = readsHeaders
        kinds.formUnion(SnapshotWalk(file, meta, options: options).findings.map(\.kind))
        return kinds
    }
}
