import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("A tool that is started without input or outputs")
struct ClosedDescriptorTests {
    let bench: Workbench
    private let lines = (0..<5).map {
        #"{"type":"stepCount","start":"2024-05-0\#($0 + 1)T08:00:00Z","value":\#($0),"unit":"count"}"#
    }

    init() throws { bench = try Workbench() }

    private func run(_ arguments: [String], without descriptors: String) throws -> ToolRun {
        let script = "exec \"$0\" \"$@\" \(descriptors)"
        return try bench.runProgram("sh", ["-c", script, Workbench.tool.path] + arguments)
    }

    @Test(
        "What the tool says never gets into a store",
        arguments: [">&- 2>&-", "<&- 2>&-", "2>&-", "<&- >&-", "<&- >&- 2>&-", "<&-", ">&-"])
    func closed(_ descriptors: String) throws {
        try (lines + ["{}", "no line"]).joined(separator: "\n")
            .write(toFile: bench.path("lines"), atomically: true, encoding: .utf8)
        #expect(try run(["load", bench.path("S"), bench.path("lines"), "--skip-bad"], without: descriptors).code == 5)
        #expect(try bench.run("check", "S").code == 0)
        // A copy is spoken of as it is opened.
        try FileManager.default.copyItem(atPath: bench.path("S"), toPath: bench.path("C"))
        try lines[0].replacing("2024", with: "2023")
            .write(toFile: bench.path("one"), atomically: true, encoding: .utf8)
        let code = try run(["load", bench.path("C"), bench.path("one")], without: descriptors).code
        // What cannot be printed is told by the code.
        #expect(code == 0 || code == 1)
        #expect(try bench.run("check", "C").code == 0)
        #expect(try bench.run("dump", "C").lines().filter { $0["start"] != nil }.count == 6)
    }
}
