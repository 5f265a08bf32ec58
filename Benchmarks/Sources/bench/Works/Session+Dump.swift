import Foundation
import HealthKV
import Histories

extension Session {
    /// Runs `kvinspect dump` into a file and `kvinspect load` of that file into a new store, both as processes.
    func measureDumpAndLoad() throws {
        guard let tool = Session.kvinspect else { return note("dump and load are left out: kvinspect is not built") }
        let text = folder + "/dump.jsonl"
        let loaded = folder + "/loaded"
        defer {
            try? FileManager.default.removeItem(atPath: text)
            try? FileManager.default.removeItem(atPath: loaded)
        }
        note("dump")
        try Data().write(to: URL(fileURLWithPath: text))
        let samples = try Double(store.count())
        guard let output = FileHandle(forWritingAtPath: text) else { throw BenchFailure("\(text) cannot be written") }
        let dumping = try Stopwatch.seconds {
            try run(tool, ["dump", storeFolder], input: .nullDevice, output: output)
        }.seconds
        try output.close()
        try send(Work.dump.rawValue, samples / dumping, .perSecond)
        guard wants(.load), let input = FileHandle(forReadingAtPath: text) else { return }
        note("load")
        let loading = try Stopwatch.seconds {
            try run(tool, ["load", loaded], input: input, output: .nullDevice)
        }.seconds
        try checkEqual(loaded)
        try send(Work.load.rawValue, samples / loading, .perSecond)
    }

    private func checkEqual(_ path: String) throws {
        guard let other = try name.open(folder: path, hasIDs: true) else { return }
        for type in history.types {
            let (own, copied) = try (store.foldAll(type), other.foldAll(type))
            if own != copied { throw BenchFailure("load: the store that was loaded differs from the one dumped") }
        }
        try other.close()
    }

    private func run(_ tool: URL, _ arguments: [String], input: FileHandle, output: FileHandle) throws {
        try Session.start(tool, arguments, input: input, output: output).finish()
    }

    /// The tool in the folder of this program, where `tools/bench` builds it.
    static var kvinspect: URL? {
        let place = Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent("kvinspect")
        return place.flatMap { FileManager.default.isExecutableFile(atPath: $0.path) ? $0 : nil }
    }

    static func start(
        _ tool: URL, _ arguments: [String], input: FileHandle = .nullDevice, output: FileHandle = .nullDevice
    ) throws -> Process {
        let process = Process()
        process.executableURL = tool
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }
}

extension Process {
    /// Waits for the end, which must be a success.
    func finish() throws {
        waitUntilExit()
        guard terminationStatus == 0 else {
            throw BenchFailure("\(executableURL?.lastPathComponent ?? "") \(arguments?.first ?? "") failed")
        }
    }
}
