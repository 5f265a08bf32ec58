import Foundation
import HealthKV
import TestSupport

/// Writes the initial corpus of the fuzzers: values of each table as a working store wrote them, and small data files.
enum Corpus {
    private static let each = 12

    static func write(_ arguments: Arguments) throws {
        let folder = try arguments.text("output")
        let values = folder + "/ColumnFormat"
        let files = folder + "/PageReader"
        for made in [values, files] {
            try FileManager.default.createDirectory(atPath: made, withIntermediateDirectories: true)
        }
        for content in DamagedBase.Content.allCases {
            let base = try DamagedBase(content, seed: try arguments.number("seed", default: 1), folder: folder)
            if content != .large { try RawFile(files + "/" + content.rawValue).replace(with: base.states[0]) }
            try write(base.states[0], content.rawValue, values, scratch: folder + "/scratch")
        }
    }

    private static func write(_ file: [UInt8], _ name: String, _ folder: String, scratch: String) throws {
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        try RawFile(scratch + "/data.mdb").replace(with: file)
        let store = try SampleStore.open(at: scratch, options: Vocabulary.options(maintains: false))
        defer { try? store.close() }
        try store.read { transaction in
            var chunks: [[UInt8]: [UInt8]] = [:]
            for table in transaction.tableNames {
                var count = 0
                try transaction.forEachRecord(ofTable: table) { key, value in
                    if table == "chunks" { chunks[key] = value }
                    count += 1
                    if count <= each { try RawFile(folder + "/\(name)-\(table)-\(count)").replace(with: value) }
                    guard table == "details", count <= each, let chunk = chunks[key] else { return }
                    let length = (0..<4).map { UInt8(truncatingIfNeeded: chunk.count >> (8 * $0)) }
                    try RawFile(folder + "/\(name)-pair-\(count)").replace(with: [255] + length + chunk + value)
                }
            }
        }
    }
}
