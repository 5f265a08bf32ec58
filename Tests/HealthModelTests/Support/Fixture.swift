import Foundation

/// A file of lines in the folder of the tests, written by the script beside it.
enum Fixture {
    static func rows(_ name: String) throws -> [[String]] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: folder.appendingPathComponent("Fixtures/\(name)"), encoding: .utf8)
        return text.split(separator: "\n").map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
    }

    /// The double with these sixteen hexadecimal digits as its bits.
    static func double(_ bits: String) -> Double { Double(bitPattern: UInt64(bits, radix: 16)!) }
}
