import Foundation

/// The Python process that drives DuckDB: requests and answers are JSON lines, columns are flat files.
final class DuckDBProcess {
    private let process = Process()
    private let requests = Pipe()
    private let answers = Pipe()
    private var received = Data()
    private let exchange: String
    private(set) var lastTime: UInt64 = 0

    /// A request or an answer; each operation uses some of the fields.
    typealias Message = [String: Any]

    init(folder: String) throws {
        exchange = folder + "-exchange"
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-B", DuckDBProcess.script, folder]
        process.standardInput = requests
        process.standardOutput = answers
        try process.run()
        guard let first = try? answer() else {
            throw ContestantIsMissing(description: "DuckDB is left out: python3 has no working duckdb and numpy (PyPI)")
        }
        lastTime = DuckDBProcess.time(of: first)
    }

    /// The script is beside the sources, since Python reads it and no build copies it.
    private static var script: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../../Python/duckdb_contestant.py"
        ).standardizedFileURL.path
    }

    var id: Int32 { process.processIdentifier }

    /// Sends a request and waits for the answer.
    @discardableResult
    func ask(_ operation: String, _ fields: Message = [:]) throws -> Message {
        var message = fields
        message["op"] = operation
        try requests.fileHandleForWriting.write(
            contentsOf: JSONSerialization.data(withJSONObject: message) + Data("\n".utf8))
        let answer = try answer()
        lastTime = DuckDBProcess.time(of: answer)
        return answer
    }

    func close() throws {
        try ask("close")
        try requests.fileHandleForWriting.close()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: exchange)
    }

    private static func time(of answer: Message) -> UInt64 { (answer["ns"] as? NSNumber)?.uint64Value ?? 0 }

    private func answer() throws -> Message {
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Data(received[..<end])
                received = Data(received[(end + 1)...])
                guard let message = try JSONSerialization.jsonObject(with: line) as? Message else { break }
                return message
            }
            let more = answers.fileHandleForReading.availableData
            if more.isEmpty { break }
            received += more
        }
        throw BenchFailure("DuckDB's process ended")
    }

    /// Writes a column for the next request.
    ///
    /// SAFETY: elements are plain numbers, whose bytes are written unchanged.
    func give<Element: BitwiseCopyable>(_ name: String, _ values: [Element]) throws {
        let data = unsafe values.withUnsafeBytes { unsafe Data($0) }
        try data.write(to: URL(fileURLWithPath: "\(exchange)/\(name)"))
    }

    /// Reads a column of the last answer.
    ///
    /// SAFETY: the array has room for the bytes of all whole elements, and each bit pattern is a valid number.
    func column<Element: BitwiseCopyable>(_ name: String, _ count: Int, _: Element.Type = Element.self) throws
        -> [Element]
    {
        let data = try Data(contentsOf: URL(fileURLWithPath: "\(exchange)/\(name)"))
        guard data.count == count * MemoryLayout<Element>.stride else { throw BenchFailure("DuckDB: a short column") }
        return unsafe [Element](unsafeUninitializedCapacity: count) { target, filled in
            unsafe data.copyBytes(to: UnsafeMutableRawBufferPointer(target))
            filled = count
        }
    }
}
