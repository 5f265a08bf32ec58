import Foundation
import LMDB
import TestSupport

@testable import HealthKV

/// A closed store whose file a test damages.
struct DamagedFile {
    let folder = TemporaryFolder()
    static let page = 4_096

    var path: String { folder.path + "/data.mdb" }

    init(samples: Int = 3_000, limits: EngineLimits = EngineLimits()) throws {
        var options = SampleStore.Options()
        options.limits = limits
        // What is damaged is the data file alone.
        options.limits.journaledCommits = 0
        options.maintainsWhenIdle = false
        options.idlePeriod = .zero
        let store = try SampleStore.open(at: folder.path, options: options)
        for part in 0..<3 {
            var batch = SampleBatch()
            let kind = batch.kind(.stepCount, .count, source: Source(name: "Source \(part)"))
            for number in 0..<samples / 3 {
                let time = Instant.day(part * 100, number * 61)
                batch.append(kind: kind, start: time, end: time, value: Double(number))
            }
            let columns = batch
            try store.write { _ = try $0.importBatch(columns) }
        }
        try store.close()
    }

    var bytes: [UInt8] {
        get throws { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
    }

    /// Changes the file where it lies, as a disk would: it stays the same file.
    func change(_ body: (inout [UInt8]) -> Void) throws {
        var bytes = try bytes
        body(&bytes)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.truncate(atOffset: UInt64(bytes.count))
        try handle.seek(toOffset: 0)
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }

    func fill(_ byte: UInt8, _ range: Range<Int>) throws {
        try change { bytes in for index in range.clamped(to: 0..<bytes.count) { bytes[index] = byte } }
    }

    /// Opens the store, reads all of it and closes it.
    @discardableResult
    func readAll(readOnly: Bool = false, limits: EngineLimits = EngineLimits()) throws -> Int {
        var options = SampleStore.Options()
        options.createIfMissing = false
        options.readOnly = readOnly
        options.limits = limits
        options.maintainsWhenIdle = false
        options.idlePeriod = .zero
        let store = try SampleStore.open(at: folder.path, options: options)
        defer { try? store.close() }
        return try store.read { try $0.samples(of: .stepCount).count }
    }

    /// The numbers of the pages of a kind that carry their own number: 2 leaves, 4 the first of long values.
    func pages(kind: UInt8) throws -> [Int] {
        let bytes = try bytes
        return (2..<bytes.count / DamagedFile.page).filter { page in
            let at = page * DamagedFile.page
            return bytes[at + 10] == kind && Int(bytes[at]) | Int(bytes[at + 1]) << 8 == page
        }
    }
}
