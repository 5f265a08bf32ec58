import Foundation
import Testing

/// The three apps in Examples, run as users run them.
@Suite struct ExampleTests {
    /// The programs are built into the same folder as the tests.
    private func program(_ name: String) -> URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let tests = bundle ?? URL(fileURLWithPath: CommandLine.arguments[0])
        return tests.deletingLastPathComponent().appendingPathComponent(name)
    }

    @Test("Each app runs its scenarios to the end", arguments: [("W8Trackr", 7), ("Walking", 6), ("Diet", 9)])
    func scenarios(_ name: String, _ count: Int) throws {
        let process = Process()
        process.executableURL = program(name)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
        #expect(text.split(separator: "\n").count { $0.hasPrefix("- ") } == count, "\(text)")
    }

    @Test("Enabling, importing a year, five syncs and the rest of W8Trackr's scenarios take less than five seconds")
    func timings() throws {
        // Other work on the machine may slow down some runs, so one that is fast enough suffices.
        var times: [Duration] = []
        while times.count < 12, times.allSatisfy({ $0 >= .seconds(5) }) {
            let begin = ContinuousClock.now
            let process = Process()
            process.executableURL = program("W8Trackr")
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            times.append(ContinuousClock.now - begin)
        }
        #expect(times.contains { $0 < .seconds(5) }, "\(times)")
    }

    @Test("Each app is one file of less than a hundred lines", arguments: ["W8Trackr", "Walking", "Diet"])
    func length(_ name: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let folder = root.appendingPathComponent("Examples/\(name)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["\(name).swift"])
        let text = try String(contentsOf: folder.appendingPathComponent("\(name).swift"), encoding: .utf8)
        #expect(text.count { $0 == "\n" } < 100)
    }
}
