import Foundation
import HealthKV
import Histories

/// One contestant's works, in a process of its own.
final class Session {
    let settings: Settings
    let name: ContestantName
    let history: History
    let folder: String
    /// The store with the whole history, from the import on.
    private var opened: (any Contestant)?

    init(_ settings: Settings, _ name: ContestantName) {
        self.settings = settings
        self.name = name
        history = settings.history()
        folder = settings.folder + "/healthkv-bench-\(name.rawValue)-\(ProcessInfo.processInfo.processIdentifier)"
    }

    func run() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if name == .memcpy { return try measureCopies() }
        if wants(.derived) { try measureDerived() }
        if settings.only.isSubset(of: [.derived]) { return }
        try measureImport()
        if wants(.compacted) { try measureCompacted() }
        if wants(.foldAll) { try measureFoldAll { try self.store.foldAll($0) } }
        if wants(.lookup) { try measureLookups() }
        if wants(.rangeDay) { try measureRanges(.rangeDay, days: 1, count: 1_000) }
        if wants(.rangeMonth) { try measureRanges(.rangeMonth, days: 30, count: 200) }
        if wants(.latest) { try measureLatest() }
        if wants(.reimport) { try measureReimport() }
        if wants(.open) { try measureOpen(.open, times: 21) }
        // After all that asks malloc for memory in its usual way, before anything is written.
        for work in [Work.readAll, .readAllRecycled] where wants(work) {
            try measureReadAll(work) { try self.store.readAll($0) }
        }
        if wants(.openUnclean) { try measureOpen(.openUnclean, times: 5) }
        if wants(.durableWrite) || wants(.edit) || wants(.delete) { try measureWrites() }
        try store.check()
        try closeStore()
    }

    var store: any Contestant { opened! }
    var storeFolder: String { folder + "/store" }

    func openStore() throws { opened = try name.open(folder: storeFolder, hasIDs: true) }

    func closeStore() throws {
        try opened?.close()
        opened = nil
    }

    func wants(_ work: Work) -> Bool { settings.only.contains(work) }

    /// Says on standard error what is being measured.
    func note(_ text: String) {
        FileHandle.standardError.write(Data("\(name.rawValue): \(text)\n".utf8))
    }

    /// Hands a line to the process that started this one.
    func send(_ report: Report) throws { FileHandle.standardOutput.write(Data("\(try report.line)\n".utf8)) }

    func send(
        _ work: String, _ value: Double, _ unit: Figure.Unit, contestant: String? = nil, runs: [Double] = [],
        latencies: Latencies? = nil, privateBytes: Int? = nil
    ) throws {
        var measurement = Figure(
            contestant: contestant ?? name.rawValue, work: work, samples: settings.samples,
            profile: settings.profile.rawValue, value: value, unit: unit, low: runs.min(), high: runs.max(),
            privateBytes: privateBytes)
        if let (p50, p99, worst) = latencies?.percentiles() {
            measurement.p50 = p50
            measurement.p99 = p99
            measurement.worst = worst
        }
        try send(.measurement(measurement))
    }

    func send(_ work: String, _ latencies: Latencies, contestant: String? = nil) throws {
        try send(work, latencies.percentiles().p50, .microseconds, contestant: contestant, latencies: latencies)
    }

    func send(_ work: String, _ digest: Digest) throws {
        try send(.answer(Answer(contestant: name.rawValue, work: work, digest: digest.text)))
    }

    /// The bytes of a store's files; LMDB's lock file is none of it, it vanishes with the last process.
    static func bytes(of folder: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix("lock") }.reduce(0) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + $1)
            return $0 + (attributes[.size] as? Int ?? 0)
        }
    }
}

extension Array where Element == Double {
    /// The middle value, the mean of the middle two.
    var median: Double {
        let sorted = sorted()
        if isEmpty { return 0 }
        return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2
    }
}
