import Foundation

/// Runs this program again for one contestant, so that its memory is its own, and reads what it reports.
enum ContestantProcess {
    static func run(_ settings: Settings, _ contestant: ContestantName) throws -> [Report] {
        let process = Process()
        process.executableURL = try executable()
        process.arguments = settings.arguments(for: contestant)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        if process.terminationStatus == 69 { return [] }
        guard process.terminationStatus == 0 else { throw BenchFailure("\(contestant.rawValue) failed") }
        let decoder = JSONDecoder()
        return try data.split(separator: UInt8(ascii: "\n")).map { try decoder.decode(Report.self, from: Data($0)) }
    }

    /// Lets another process open a store, write to it and end without closing it.
    static func abandon(_ folder: String, _ settings: Settings, _ contestant: ContestantName) throws {
        let process = Process()
        process.executableURL = try executable()
        process.arguments = settings.arguments(for: contestant) + ["--abandon", folder]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchFailure("a process could not write to the store") }
    }

    private static func executable() throws -> URL {
        if let url = Bundle.main.executableURL { return url }
        throw BenchFailure("the path of this program is not known")
    }
}
