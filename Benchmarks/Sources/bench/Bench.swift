import Foundation
import Histories

@main
enum Bench {
    static func main() {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.contains("--help") || arguments.contains("-h") { return print(Settings.usage) }
            let settings = try Settings(arguments)
            guard let child = settings.child else { return try compareAll(settings) }
            let session = Session(settings, child)
            if let folder = settings.abandon { try session.abandonStore(folder) } else { try session.run() }
        } catch let missing as ContestantIsMissing {
            FileHandle.standardError.write(Data("bench: \(missing)\n".utf8))
            exit(69)
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Compares the contestants at each size, and draws how costs grow.
    private static func compareAll(_ settings: Settings) throws {
        var all: [Figure] = []
        for samples in settings.sizes { all += try compare(settings.sized(samples)) }
        if let path = settings.html {
            try Page(all, settings).text.write(toFile: path, atomically: true, encoding: .utf8)
        }
    }

    /// Runs each contestant in a process of its own, compares their answers and prints the table.
    private static func compare(_ settings: Settings) throws -> [Figure] {
        var measurements: [Figure] = []
        var answers = AnswerBook()
        var missing: [String] = []
        for contestant in settings.contestants {
            let reports = try ContestantProcess.run(settings, contestant)
            if reports.isEmpty, !contestant.works.isDisjoint(with: settings.only) {
                missing.append(contestant.rawValue)
            }
            for report in reports {
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
        let isTerminal = isatty(STDOUT_FILENO) != 0 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
        print(Table(measurements, settings, missing: missing, colours: isTerminal).text)
        if let json = settings.json { try write(measurements, to: json) }
        if !differing.isEmpty {
            throw BenchFailure("the contestants' answers differ, so these times do not count: \(differing.sorted())")
        }
        return measurements
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

    /// Adds an answer. A part of one stands behind a `#`: who is slow answers the first questions only.
    mutating func add(_ answer: Answer) { digests[answer.work, default: []].insert(answer.digest) }

    /// The works that not all contestants answered alike.
    var differing: Set<String> {
        Set(digests.filter { $0.value.count > 1 }.keys.map { String($0.split(separator: "#")[0]) })
    }
}
