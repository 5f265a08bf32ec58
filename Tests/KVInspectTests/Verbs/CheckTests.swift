import Foundation
import Testing

@testable import kvinspect

@Suite("check")
struct CheckTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        let lines = (0..<20_000).map {
            #"{"type":"stepCount","start":"2024-01-01T00:00:00.\#(String(format: "%09d", $0 * 7919))Z","value":\#($0 % 97).125,"unit":"count"}"#
        }
        try bench.load("S", lines.joined(separator: "\n"))
    }

    @Test("A store in order is clean: 0, and an empty list")
    func clean() throws {
        let run = try bench.run("check", "S", "--format", "json")
        #expect(run.code == 0)
        let json = try run.json()
        #expect(json["verb"] as? String == "check" && json["clean"] as? Bool == true)
        #expect((json["findings"] as? [Any])?.isEmpty == true)
        #expect(try bench.run("check", "S", "--show-values").code == 0)
    }

    #if os(Linux)
        @Test("A file that the system cannot read is an error, not damage: 1")
        func unreadable() throws {
            let file = bench.folder.appendingPathComponent("S/data.mdb")
            try FileManager.default.removeItem(at: file)
            // The first page of a process's own memory is not mapped: reading it fails as on a failing disk.
            try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "/proc/self/mem")
            let run = try bench.run("check", "S")
            #expect(run.code == 1 && run.errors.contains("Input/output error"), "\(run.errors)")
        }
    #endif

    @Test("Damage in the middle of the file is found: 2, with findings and never a value")
    func damaged() throws {
        let file = bench.folder.appendingPathComponent("S/data.mdb")
        var bytes = try Data(contentsOf: file)
        for offset in stride(from: 8192 + 1000, to: bytes.count, by: 4096) { bytes[offset] ^= 0x55 }
        try bytes.write(to: file)
        let run = try bench.run("check", "S", "--format", "json")
        #expect(run.code == 2, "\(run.errors)")
        let json = try run.json()
        #expect(json["clean"] as? Bool == false)
        let findings = try #require(json["findings"] as? [[String: Any]])
        #expect(!findings.isEmpty && findings.allSatisfy { ($0["code"] as? String)?.isEmpty == false })
        #expect(!run.output.contains(".125"))
    }

    @Test("A file full of noise is damage, not a crash")
    func ruined() throws {
        let file = bench.folder.appendingPathComponent("S/data.mdb")
        let bytes = try Data(contentsOf: file)
        try Data(repeating: 0x5A, count: bytes.count).write(to: file)
        #expect(try bench.run("check", "S").code == 2)
        for verb in ["info", "dump", "hash"] {
            let run = try bench.run(verb, "S")
            #expect([1, 2].contains(run.code) && run.errors.hasPrefix("Error: "), "\(verb) \(run.code) \(run.errors)")
        }
    }
}
