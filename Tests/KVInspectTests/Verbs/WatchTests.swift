import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("watch")
struct WatchTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    /// Runs `watch`, and calls `body` after each line with all that it has printed so far, until `body` returns `false`
    /// or the tool ends. With `kills`, the tool is then killed instead of told by its closed output.
    private func watch(
        _ arguments: [String], kills: Bool = false, _ body: (_ looks: [[String: Any]]) throws -> Bool
    ) throws -> (looks: [[String: Any]], code: Int32, errors: String) {
        let process = try bench.prepare(["watch", "S", "--interval", "0.05"] + arguments, input: nil)
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        var (looks, rest, goesOn) = ([] as [[String: Any]], Data(), true)
        while goesOn, case let piece = output.fileHandleForReading.availableData, !piece.isEmpty {
            rest += piece
            while goesOn, let end = rest.firstIndex(of: 0x0A) {
                let line = rest[rest.startIndex..<end]
                looks.append(try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any]))
                rest = Data(rest[(end + 1)...])
                goesOn = try body(looks)
            }
        }
        if kills { kill(process.processIdentifier, SIGKILL) }
        // The tool ends when nobody reads its output any more.
        try output.fileHandleForReading.close()
        process.waitUntilExit()
        let said = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
        return (looks, process.terminationStatus, ToolRun.words(said))
    }

    private static func moment(_ seconds: Int) -> Instant { SyncFixture.time + Int64(seconds) * 1_000_000_000 }

    private func sum(_ key: String, _ looks: [[String: Any]]) -> Int { looks.reduce(0) { $0 + ($1[key] as? Int ?? 0) } }

    @Test("Each look is one line with all keys, without a health value")
    func keys() throws {
        let run = try bench.run("watch", "S", "--interval", "0.01", "--count", "3")
        #expect(run.code == 0 && run.errors.isEmpty)
        let looks = try run.lines()
        #expect(looks.count == 3 && !run.output.contains("72.4"))
        for look in looks {
            for key in [
                "commit", "commits", "transaction", "samples", "added", "deleted", "ranges_removed", "pending",
                "readers",
                "file_bytes", "live_bytes", "free_pages", "journal_bytes", "journal_commits",
            ] {
                #expect(look[key] is Int, "\(key)")
            }
            #expect(look["time"] is String && look["types"] is [Any] && look["peers"] is [Any])
            #expect(look["restarted"] as? Bool == false && look["samples"] as? Int == 4)
        }
        let json = try bench.run("watch", "S", "--interval", "0.01", "--count", "2", "--format", "json").json()
        #expect((json["looks"] as? [Any])?.count == 2)
    }

    @Test("It counts what another process saves and deletes, by type, also of commits in the journal")
    func writes() throws {
        let store = try SampleStore.open(at: bench.path("S"))
        var step = 0
        let (looks, code, errors) = try watch(["--count", "2000"]) { looks in
            step += 1
            switch step {
            case 2:
                try store.write { txn in
                    for minute in 0..<20 {
                        try txn.save(Sample(.heartRate, 60, .countPerMinute, at: Self.moment(minute * 60)))
                    }
                }
            case 4: try store.write { try $0.save(Sample(.stepCount, 5, .count, at: Self.moment(0))) }
            case 5: try store.write { try $0.save(Sample(.stepCount, 6, .count, at: Self.moment(60))) }
            case 6: try store.write { try $0.delete(.id(SampleID(Fixture.weight)!)) }
            default: break
            }
            return step < 6 || sum("deleted", looks) == 0
        }
        #expect(code == 0, "\(errors)")
        #expect(sum("added", looks) == 22 && sum("deleted", looks) == 1, "\(looks)")
        let types = looks.flatMap { $0["types"] as? [[String: Any]] ?? [] }
        func count(_ type: String, _ key: String) -> Int { sum(key, types.filter { $0["type"] as? String == type }) }
        #expect(
            count("heartRate", "added") == 20 && count("stepCount", "added") == 2 && count("bodyMass", "deleted") == 1)
        #expect(looks.last?["samples"] as? Int == 25)
        #expect(sum("journal_commits", looks) > 0 && sum("journal_bytes", looks) > 0)
        try store.close()
        try bench.expectClean("S")
    }

    @Test("It shows what waits for peers, and the snapshots of others, but holds none between two looks")
    func readers() throws {
        let other = try Workbench()
        _ = try SyncFixture(other, "S")
        let shown = try other.run("watch", "S", "--interval", "0.01", "--count", "1").lines()[0]
        let peers = try #require(shown["peers"] as? [[String: Any]])
        #expect(shown["pending"] as? Int == 3 && shown["readers"] as? Int == 0)
        #expect(peers.map { $0["peer"] as? String } == ["health", "tablet"])
        #expect(peers.map { $0["pending"] as? Int } == [2, 1])
        let store = try SampleStore.open(at: bench.path("S"))
        let looks = try store.read { transaction in
            _ = try transaction.count()
            return try bench.run("watch", "S", "--interval", "0.01", "--count", "1").lines()
        }
        #expect(looks[0]["readers"] as? Int == 1 && looks[0]["oldest_reader"] is Int)
        func held() throws -> Int { try store.info().readers.count { $0.transaction != nil } }
        var left: Int?
        // What is held until the second look is still there after five seconds.
        _ = try watch(["--interval", "30", "--count", "2"], kills: true) { _ in
            let end = ContinuousClock.now + .seconds(5)
            while try held() > 0, ContinuousClock.now < end { usleep(20_000) }
            left = try held()
            return false
        }
        #expect(left == 0)
    }

    @Test("It goes on when the store is compacted in place, and says so when it is replaced by another")
    func replaced() throws {
        try bench.load("other", Fixture.lines.split(separator: "\n").prefix(2).joined(separator: "\n"))
        let store = try SampleStore.open(at: bench.path("S"))
        var step = 0
        let (looks, code, errors) = try watch(["--count", "2000"]) { looks in
            step += 1
            switch step {
            case 3: try store.compactInPlace()
            case 5: try store.write { try $0.save(Sample(.stepCount, 5, .count, at: Self.moment(0))) }
            case 15:
                try store.close()
                try FileManager.default.moveItem(atPath: bench.path("S"), toPath: bench.path("before"))
                try FileManager.default.moveItem(atPath: bench.path("other"), toPath: bench.path("S"))
            default: break
            }
            return step < 20 || !looks.contains { $0["restarted"] as? Bool == true }
        }
        // Between the two moves there was no store for a moment.
        if code == 1 {
            #expect(errors.contains("There is no store in S"))
            return
        }
        #expect(code == 0, "\(errors)")
        let first = looks.firstIndex { $0["restarted"] as? Bool == true }
        #expect(try #require(first) > 5)
        #expect(sum("added", looks) == 1 && looks.last?["samples"] as? Int == 2)
    }

    @Test("Ctrl-C ends it with 0, and JSON stays whole")
    func interrupted() throws {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        let process = try bench.prepare(["watch", "S", "--interval", "0.05", "--format", "json"], input: nil)
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let head = output.fileHandleForReading.availableData
        Thread.sleep(forTimeInterval: 0.2)
        process.interrupt()
        let text = head + (try output.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
        let json = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        #expect((json["looks"] as? [Any])?.isEmpty == false)
    }

    @Test("A wrong interval is refused", arguments: ["0", "-1", "soon", "nan", "inf"])
    func interval(_ text: String) throws {
        let run = try bench.run("watch", "S", "--interval=\(text)", "--count", "1")
        #expect(run.code == 64 && run.errors.contains("is invalid for '--interval <seconds>'"))
    }
}
