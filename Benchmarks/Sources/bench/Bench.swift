import Foundation
import Histories

@main
enum Bench {
    static func main() {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.contains("--help") || arguments.contains("-h") { return print(Settings.usage) }
            let settings = try Settings(arguments)
            guard let child = settings.child else { return try compare(settings) }
            let session = Session(settings, child)
            if let folder = settings.abandon { try session.abandonStore(folder) } else { try session.run() }
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Runs each contestant in a process of its own, compares their answers and prints the table.
    private static func compare(_ settings: Settings) throws {
        var measurements: [Figure] = []
        var answers = AnswerBook()
        for contestant in settings.contestants {
            for report in try ContestantProcess.run(settings, contestant) {
                switch report {
                case .measurement(let measurement): measurements.append(measurement)
                case .answer(let answer): answers.add(answer)
                }
            }
        }
        let differing = answers.differing
        // A time counts only if the answer was right.
        measurements.removeAll { measurement in
            differing.contains { measurement.work == $0 || measurement.work.hasPrefix($0 + ".") }
        }
        print(Table(measurements, settings).text)
        if let json = settings.json { try write(measurements, to: json) }
        if !differing.isEmpty {
            throw BenchFailure("the contestants' answers differ, so these times do not count: \(differing.sorted())")
        }
    }

    private static func write(_ measurements: [Figure], to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(fileURLWithPath: path)) }
        guard let file = FileHandle(forWritingAtPath: path) else { throw BenchFailure("\(path) cannot be written") }
        try file.seekToEnd()
        for measurement in measurements { try file.write(contentsOf: encoder.encode(measurement) + Data("\n".utf8)) }
        try file.close()
    }
}

/// The digests of all answers, by work.
struct AnswerBook {
    private var digests: [String: Set<String>] = [:]

    mutating func add(_ answer: Answer) { digests[answer.work, default: []].insert(answer.digest) }

    /// The works that not all contestants answered alike.
    var differing: Set<String> { Set(digests.filter { $0.value.count > 1 }.keys) }
}
