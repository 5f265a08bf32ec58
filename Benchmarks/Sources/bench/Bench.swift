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
        } catch let usage as WrongUsage {
            FileHandle.standardError.write(Data("bench: \(usage)\n".utf8))
            exit(64)
        } catch let missing as ContestantIsMissing {
            FileHandle.standardError.write(Data("bench: \(missing)\n".utf8))
            exit(69)
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Runs the contestants with each profile and size, and draws how costs grow.
    private static func compareAll(_ settings: Settings) throws {
        let interruption = Interruption()
        let isTerminal = isatty(STDOUT_FILENO) != 0 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
        var all: [Figure] = []
        var flaws: [String] = []
        for (profile, samples) in settings.parts where !interruption.wasAsked {
            let comparison = try Comparison(settings.part(profile, samples), interruption)
            try comparison.run()
            let plain = all.filter { $0.profile == History.Profile.plain.rawValue && $0.samples == samples }
            print(comparison.table(colours: isTerminal, plain: plain).text)
            all += comparison.figures
            flaws += comparison.flaws
            if let path = settings.html {
                try Page(all, seed: settings.seed).text.write(toFile: path, atomically: true, encoding: .utf8)
            }
        }
        if !flaws.isEmpty { throw BenchFailure(flaws.joined(separator: "; ")) }
    }
}
