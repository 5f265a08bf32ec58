import Foundation
import HealthKV
import Testing

/// One run of the built tool.
struct ToolRun {
    let code: Int32
    let output: String
    let errors: String

    /// Removes the notice that the test folder is on an overlay file system, as it may be in a container.
    static func words(_ errors: String) -> String {
        var lines = errors.split(separator: "\n", omittingEmptySubsequences: false)
        lines.removeAll { $0.contains("lies on an overlay file system") }
        return lines.joined(separator: "\n")
    }

    /// The output parsed as one JSON object.
    func json(_ location: SourceLocation = #_sourceLocation) throws -> [String: Any] {
        try #require(
            try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any], sourceLocation: location)
    }

    /// The output parsed as one JSON object per line.
    func lines(_ location: SourceLocation = #_sourceLocation) throws -> [[String: Any]] {
        try output.split(separator: "\n").map { line in
            try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], sourceLocation: location)
        }
    }
}

/// A folder for one test, removed at its end, and the tool to run in it.
final class Workbench {
    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("kvinspect-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// The tool is built into the same folder as the tests.
    static let tool: URL = {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let tests = bundle ?? URL(fileURLWithPath: CommandLine.arguments[0])
        return tests.deletingLastPathComponent().appendingPathComponent("kvinspect")
    }()

    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

    /// Runs the tool in the folder. Names of stores are relative to the folder.
    func run(
        _ arguments: String..., input: String? = nil, environment: [String: String] = [:]
    ) throws -> ToolRun {
        try run(arguments, input: input.map { Data($0.utf8) }, environment: environment)
    }

    func run(_ arguments: [String], input: Data?, environment: [String: String] = [:]) throws -> ToolRun {
        try finish(try prepare(arguments, input: input, environment: environment))
    }

    /// The path of a program of the system; `nil` if it is not installed.
    static func program(_ name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program of the system in the folder.
    func runProgram(_ name: String, _ arguments: [String]) throws -> ToolRun {
        let process = try prepare(arguments, input: nil)
        process.executableURL = URL(fileURLWithPath: try #require(Workbench.program(name)))
        return try finish(process)
    }

    /// Runs a prepared process to its end.
    private func finish(_ process: Process) throws -> ToolRun {
        // Use files instead of pipes, so that the tool can write without a concurrent reader.
        let output = try stream("output")
        let errors = try stream("errors")
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        process.waitUntilExit()
        return ToolRun(
            code: process.terminationStatus, output: try text(of: output), errors: ToolRun.words(try text(of: errors)))
    }

    /// Prepares the process without starting it.
    func prepare(_ arguments: [String], input: Data?, environment: [String: String] = [:]) throws -> Process {
        let process = Process()
        process.executableURL = Workbench.tool
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = ProcessInfo.processInfo.environment.merging(["TZ": "UTC"]) { $1 }.merging(environment) {
            $1
        }
        let file = folder.appendingPathComponent("input-\(UUID().uuidString)")
        try (input ?? Data()).write(to: file)
        process.standardInput = try FileHandle(forReadingFrom: file)
        return process
    }

    /// Damages one chunk of the type that has the most chunks, in the columns, in each copy of it in the file.
    func damageChunk(_ store: String, at position: (Int) -> Int) throws {
        let opened = try SampleStore.open(at: path(store))
        var chunks: [[UInt8]: [[UInt8]]] = [:]
        try opened.read { transaction in
            try transaction.forEachRecord(ofTable: "chunks") { key, value in
                // A key begins with the number of the type.
                chunks[Array(key.prefix(4)), default: []].append(value)
            }
        }
        try opened.close()
        let most = try #require(chunks.values.max { $0.count < $1.count })
        let value = Data(most[position(most.count)])
        let file = folder.appendingPathComponent("\(store)/data.mdb")
        var bytes = try Data(contentsOf: file)
        var found = 0
        while let range = bytes.range(of: value) {
            bytes[range.upperBound - 9] ^= 0x10
            found += 1
        }
        try #require(found > 0)
        try bytes.write(to: file)
    }

    /// Damages one record of a table in two bits, in each copy of it in the file, so that nothing can set it right.
    func damageRecord(_ store: String, of table: String, where isWanted: ([UInt8]) -> Bool = { _ in true }) throws {
        let opened = try SampleStore.open(at: path(store))
        var values: [Data] = []
        try opened.read { transaction in
            try transaction.forEachRecord(ofTable: table) { if isWanted($0) { values.append(Data($1)) } }
        }
        try opened.close()
        let value = try #require(values.first)
        let file = folder.appendingPathComponent("\(store)/data.mdb")
        var bytes = try Data(contentsOf: file)
        var found = 0
        while let range = bytes.range(of: value) {
            for offset in 1...2 { bytes[range.upperBound - offset] ^= 0x10 }
            found += 1
        }
        try #require(found > 0)
        try bytes.write(to: file)
    }

    /// Damages the last byte of every value on a leaf page of a table. Keys of 8 bytes belong to the list of free
    /// pages.
    func damageValues(_ store: String) throws {
        let file = folder.appendingPathComponent("\(store)/data.mdb")
        var bytes = [UInt8](try Data(contentsOf: file))
        func number(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
        for page in stride(from: 2 * 4_096, to: bytes.count, by: 4_096) where number(page + 10) == 2 {
            for index in 0..<max(0, (number(page + 12) - 16) / 2) {
                let entry = page + number(page + 16 + 2 * index)
                let (size, flags, key) = (number(entry), number(entry + 4), number(entry + 6))
                if flags == 0, key != 8, size > 40 { bytes[entry + 8 + key + size - 1] ^= 0x10 }
            }
        }
        try Data(bytes).write(to: file)
    }

    /// Turns a bit in the header of the first long value of a store: `bit` counts from the beginning of its page.
    func damageHeader(_ store: String, bit: Int) throws {
        let pages = try run("pages", store, "--format", "jsonl").lines()
        // Later pages of a value have no entries.
        let page = try #require(
            pages.first {
                $0["kind"] as? String == "overflow" && $0["entries"] is Int && $0["state"] as? String == "used"
            }?["page"] as? Int)
        let file = folder.appendingPathComponent("\(store)/data.mdb")
        var bytes = [UInt8](try Data(contentsOf: file))
        bytes[page * 4_096 + bit / 8] ^= 1 << UInt8(bit % 8)
        try Data(bytes).write(to: file)
    }

    /// The exit code of the tool if the reader of its output has closed it.
    func codeOfClosedOutput(_ arguments: [String]) throws -> Int32 {
        let process = try prepare(arguments, input: nil)
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try output.fileHandleForReading.close()
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    private func stream(_ name: String) throws -> FileHandle {
        let file = folder.appendingPathComponent("\(name)-\(UUID().uuidString)")
        try Data().write(to: file)
        return try FileHandle(forUpdating: file)
    }

    private func text(of handle: FileHandle) throws -> String {
        try handle.seek(toOffset: 0)
        return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
    }

    /// Makes a store of these lines.
    func load(_ store: String, _ lines: String, _ location: SourceLocation = #_sourceLocation) throws {
        let run = try run("load", store, input: lines)
        try #require(run.code == 0, "\(run.errors)", sourceLocation: location)
    }

    /// Checks that the store is sound.
    func expectClean(_ store: String, _ location: SourceLocation = #_sourceLocation) throws {
        let run = try run("check", store)
        #expect(run.code == 0, "\(run.output)\(run.errors)", sourceLocation: location)
    }
}

/// A small history with every field, from two kinds of input and three apps.
enum Fixture {
    static let weight = "11111111-2222-4333-8444-555555555555"

    static let lines = """
        {"type":"stepCount","start":"2024-05-31T08:00:00Z","end":"2024-05-31T08:10:00Z","value":512,"unit":"count","source":"Phone"}
        {"type":"stepCount","start":"2024-05-31T09:00:00Z","end":"2024-05-31T09:10:00Z","value":100,"unit":"count","source":"Watch, \\"mine\\""}
        {"type":"stepCount","start":"2024-06-01T08:00:00Z","end":"2024-06-01T08:05:00.5Z","value":7,"unit":"count","source":"Phone"}
        {"id":"\(weight)","type":"bodyMass","start":"2024-05-31T06:30:00.123456789+02:00","value":72.4,"unit":"kg","source":{"name":"Scale","bundle":"com.example.scale","version":"2.1","product":"S1","system":"4"},"syncIdentifier":"weight-1","syncVersion":3,"modified":"2024-05-31T07:00:00Z","replica":9,"origin":"authored","userEntered":true,"count":2,"device":{"name":"Scale","model":"S1"},"metadata":{"text":"a\\nb","number":-0.0,"flag":true,"day":{"date":"2024-01-01T00:00:00Z"},"goal":{"value":70,"unit":"kg"},"least":1e-300},"group":"morning"}

        """

    /// A small export of Apple Health, of which one record cannot be read.
    static let export = """
        <?xml version="1.0" encoding="UTF-8"?>
        <HealthData locale="en_US">
         <Record type="HKQuantityTypeIdentifierStepCount" sourceName="Phone" unit="count" creationDate="2024-07-01 08:10:00 +0200" startDate="2024-07-01 08:00:00 +0200" endDate="2024-07-01 08:10:00 +0200" value="120"/>
         <Record type="HKQuantityTypeIdentifierBodyMass" sourceName="Scale" unit="kg" creationDate="2024-07-01 08:00:00 +0200" startDate="2024-07-01 08:00:00 +0200" endDate="2024-07-01 08:00:00 +0200" value="72.5"/>
        </HealthData>

        """
}
