import Foundation
import HealthKV
import Histories

/// The works of one contestant, in a separate process.
final class Session {
    let settings: Settings
    let name: ContestantName
    let history: History
    let folder: String
    /// The store with the whole history, after the import.
    private var opened: (any Contestant)?

    init(_ settings: Settings, _ name: ContestantName) {
        self.settings = settings
        self.name = name
        history = settings.history()
        folder = Session.folder(settings, name, ProcessInfo.processInfo.processIdentifier)
    }

    /// The folder of a contestant's process, which its parent knows in order to clean up.
    static func folder(_ settings: Settings, _ name: ContestantName, _ process: Int32) -> String {
        settings.folder + "/healthkv-bench-\(name.rawValue)-\(process)"
    }

    func run() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if name == .memcpy { return try measureCopies() }
        if wants(.derived) { try measureDerived() }
        if wants(.singleWrites) { try measureSingleWrites() }
        if wants(.importXML) { try measureImportXML() }
        if !settings.only.intersection(name.works).isSubset(of: Work.ofOwn.union([.derived])) { try measureStore() }
        // Last, so that the simulator's memory does not affect imports.
        try measureSync()
    }

    /// The works on a store with the whole history.
    private func measureStore() throws {
        try measureImport()
        if wants(.compacted) { try measureCompacted() }
        if wants(.foldAll) { try measureFoldAll { try self.store.foldAll($0) } }
        if wants(.lookup) { try measureLookups() }
        if wants(.rangeDay) { try measureRanges(.rangeDay, days: 1, count: 1_000) }
        if wants(.rangeMonth) { try measureRanges(.rangeMonth, days: 30, count: 200) }
        if wants(.latest) { try measureLatest() }
        if wants(.dayStats) { try measureDayStats() }
        if wants(.seriesPoints) { try measureSeriesPoints() }
        if wants(.reimport) { try measureReimport() }
        if wants(.open) { try measureOpen(.open, times: 21) }
        // After all works that use malloc with its usual settings, and before anything is written.
        for work in [Work.readAll, .readAllRecycled] where wants(work) {
            try measureReadAll(work) { try self.store.readAll($0) }
        }
        if name == .healthKV, wants(.dump) || wants(.load) { try measureDumpAndLoad() }
        if wants(.lookupSync) { try measureSyncLookups() }
        if wants(.openUnclean) { try measureOpen(.openUnclean, times: 5) }
        if wants(.durableWrite64) { try measureManyWriters() }
        if wants(.writeFolded) { try measureFolded() }
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

    func wants(_ work: Work) -> Bool { settings.only.contains(work) && name.works.contains(work) }

    /// Prints the current measurement and the elapsed time of the whole run on standard error.
    func note(_ text: String) { Session.note("\(name.rawValue) \(settings.samples): \(text)", settings) }

    static func note(_ text: String, _ settings: Settings) {
        let seconds = Double(Stopwatch.now() - settings.began) / 1e9
        FileHandle.standardError.write(Data("[\(String(format: "%6.1f", seconds)) s] \(text)\n".utf8))
    }

    /// Sends a line to the parent process.
    func send(_ report: Report) throws { FileHandle.standardOutput.write(Data("\(try report.line)\n".utf8)) }

    func send(
        _ work: String, _ value: Double, _ unit: Figure.Unit, contestant: String? = nil, runs: [Double] = [],
        latencies: Latencies? = nil, fill: (inout Figure) -> Void = { _ in }
    ) throws {
        var measurement = Figure(
            contestant: contestant ?? name.rawValue, work: work, samples: settings.samples,
            profile: settings.profile.rawValue, value: value, unit: unit, low: runs.min(), high: runs.max())
        measurement.runs = runs.isEmpty ? nil : runs.count
        if let found = latencies?.percentiles() {
            measurement.runs = latencies?.count
            measurement.p50 = found.p50
            measurement.p99 = found.p99
            measurement.p999 = found.p999
            measurement.worst = found.worst
        }
        fill(&measurement)
        try send(.measurement(measurement))
    }

    func send(
        _ work: String, _ latencies: Latencies, contestant: String? = nil, fill: (inout Figure) -> Void = { _ in }
    ) throws {
        try send(
            work, latencies.percentiles().p50, .microseconds, contestant: contestant, latencies: latencies, fill: fill)
    }

    func send(_ work: String, _ digest: Digest) throws {
        try send(.answer(Answer(contestant: name.rawValue, work: work, digest: digest.text)))
    }

    /// The bytes of a store's files. Excludes files shared between processes, which vanish with the last process, and
    /// the logs of SQLite and DuckDB, which have a configured size during bulk writes and are empty after an import.
    static func bytes(of folder: String) throws -> Int {
        let transient = ["-shm", "-wal", ".wal"]
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { name in
            !name.hasPrefix("lock") && !name.hasPrefix("LOG") && !transient.contains { name.hasSuffix($0) }
        }
        return try names.reduce(0) {
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
