import Foundation
import LMDB
import TestSupport
import Testing

@testable import HealthKV

/// What an app's extension hears of the app's commits, in a folder that they share. The extension is a process of its
/// own and opens the store for reading only.
@Suite struct OtherProcessTests {
    /// On a machine that does nothing else, `HEALTHKV_QUIET=1` asks for more.
    private static let isQuiet = ProcessInfo.processInfo.environment["HEALTHKV_QUIET"] == "1"
    private static let commits = isQuiet ? 200 : 20
    /// How many of the commits must be heard of in time: on a busy machine a processor may come late.
    private static let inTime = isQuiet ? 198 : 15
    /// The longest lag. An observer that looks once a second, or less often, exceeds each.
    private static let longest = Duration.milliseconds(isQuiet ? 100 : 500)
    /// How often all commits are tried: a machine may be busy for seconds.
    private static let series = 3

    @Test(
        "Of the commits of another process, a read-only observer hears soon, woken or not",
        arguments: [true, false])
    func lag(isWoken: Bool) async throws {
        var slowest: [Duration] = []
        for _ in 0..<OtherProcessTests.series {
            let lags = try await lags(isWoken: isWoken).sorted()
            slowest.append(lags[OtherProcessTests.inTime - 1])
            if slowest.last! < OtherProcessTests.longest { break }
        }
        let place = "\(OtherProcessTests.inTime) of \(OtherProcessTests.commits)"
        #expect(slowest.last! < OtherProcessTests.longest, "the lag at place \(place) in each series: \(slowest)")
    }

    /// How long after each commit of this process another one heard of it.
    private func lags(isWoken: Bool) async throws -> [Duration] {
        let folder = TemporaryFolder()
        let (path, ready) = (folder.path + "/group", folder.path + "/ready")
        let store = try SampleStore.open(at: path, options: .small(mapSize: 64 << 20))
        let committed = Monitor<[Int64]>([])
        let hasEnded = Monitor(false)
        let app = Thread {
            // Without a limit: the other process would wait forever for what is committed before it listens.
            while FileSystem.size(of: ready) == nil {
                if hasEnded.withLock({ $0 }) { return }
                pause(milliseconds: 1)
            }
            for number in 0..<OtherProcessTests.commits {
                // Apart from each other, so that each comes alone, and at any moment between two looks.
                pause(milliseconds: 61 + number % 7 * 13)
                let sample = Sample(.stepCount, Double(number), .count, at: .day(number))
                guard (try? store.save(sample)) != nil else { return }
                committed.withLock { $0.append(FileSystem.monotonicNanoseconds) }
            }
        }
        await #expect(processExitsWith: .success) {
            [folder = folder.path as String, path = path as String, isWoken = isWoken as Bool] in
            try await OtherProcessTests.observe(path, in: folder, isWoken: isWoken)
        }
        hasEnded.withLock { $0 = true }
        app.join()
        let heard = String(decoding: FileSystem.bytes(of: folder.path + "/heard"), as: UTF8.self)
        let times = heard.split(separator: " ").compactMap { Int64($0) }
        try #require(times.count == OtherProcessTests.commits && committed.withLock { $0.count } == times.count)
        try store.expectClean()
        try store.close()
        return zip(times, committed.withLock { $0 }).map { .nanoseconds($0 - $1) }
    }

    /// The extension: writes down when it heard of which commit, and ends with the last.
    private static func observe(_ path: String, in folder: String, isWoken: Bool) async throws {
        var options = SampleStore.Options.small(mapSize: 64 << 20)
        options.readOnly = true
        if !isWoken {
            options.limits.watchedFolder = folder + "/elsewhere"
            try #require(FileSystem.makeFolder(folder + "/elsewhere"))
        }
        let store = try SampleStore.open(at: path, options: options)
        let changes = store.changes(of: [.stepCount])
        FileSystem.write([1], to: folder + "/ready")
        var heard = [Int64](repeating: 0, count: commits)
        for await change in changes {
            guard case .saved(let sample) = change.kind else { continue }
            heard[Int(sample.quantity.value)] = FileSystem.monotonicNanoseconds
            if Int(sample.quantity.value) == commits - 1 { break }
        }
        FileSystem.write(Array(heard.map(String.init).joined(separator: " ").utf8), to: folder + "/heard")
        try store.close()
    }
}
