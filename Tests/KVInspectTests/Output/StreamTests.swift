import Foundation
import Testing

@testable import kvinspect

@Suite("Streams and signals")
struct StreamTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    /// So many lines that a reader may close the output before their end.
    private func manyLines(_ count: Int) -> String {
        (0..<count).map {
            #"{"type":"stepCount","start":"2024-01-01T00:00:00.\#(String(format: "%09d", $0))Z","value":\#($0 % 300),"unit":"count"}"#
        }.joined(separator: "\n")
    }

    @Test("A reader that closes the output early ends the tool without a message")
    func closedOutput() throws {
        try bench.load("S", manyLines(5000))
        let process = try bench.prepare(["dump", "S"], input: nil)
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        try output.fileHandleForReading.close()
        try process.run()
        process.waitUntilExit()
        try errors.fileHandleForWriting.close()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
        let said = try errors.fileHandleForReading.readToEnd() ?? Data()
        #expect(ToolRun.words(String(decoding: said, as: UTF8.self)).isEmpty)
    }

    @Test(
        "One Ctrl-C stops a load between two batches and an import that waits for its input, and the store is sound",
        arguments: ["load", "import"])
    func interrupted(verb: String) throws {
        let process = try bench.prepare([verb, "S"] + (verb == "import" ? ["-"] : []), input: nil)
        let input = Pipe()
        let errors = Pipe()
        process.standardInput = input
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        // A child inherits the blocked signals, and the threads that run tests block most of them.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        try process.run()
        let given = verb == "load" ? manyLines(100) : "<HealthData>\n"
        try input.fileHandleForWriting.write(contentsOf: Data(given.utf8))
        // The first text on the error output shows that the tool is working.
        _ = errors.fileHandleForReading.availableData
        Thread.sleep(forTimeInterval: 0.2)
        process.interrupt()
        process.waitUntilExit()
        try errors.fileHandleForWriting.close()
        let words = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(process.terminationReason == .exit && process.terminationStatus == 1, "\(words)")
        #expect(words.contains("Interrupted."))
        // A load that stops before its first batch leaves no store, and neither does an import.
        if verb == "import" { #expect(!bench.exists("S")) }
        if bench.exists("S") { try bench.expectClean("S") }
    }

    @Test("Progress events are JSON on the error output, and the output has data only")
    func progressEvents() throws {
        try bench.load("S", Fixture.lines)
        let run = try bench.run("dump", "S", "--progress", "json")
        let events = try ToolRun(code: 0, output: run.errors, errors: "").lines()
        #expect(events.first?["event"] as? String == "start" && events.last?["event"] as? String == "done")
        #expect(events.last?["verb"] as? String == "dump" && events.last?["done"] as? Int == 4)
        #expect(try run.lines().count == 4)
        #expect(try bench.run("dump", "S").errors.isEmpty)
    }

    @Test("Output to a file is plain text, whatever the terminal supports")
    func noStyle() throws {
        try bench.load("S", Fixture.lines)
        #expect(!(try bench.run("types", "S", environment: ["TERM": "xterm-256color"]).output.contains("\u{1B}")))
    }
}
