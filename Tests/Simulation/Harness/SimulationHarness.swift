import TestSupport

/// Simulates stores, HealthKits and engines under faults, and judges the final state. tools/simulate runs it;
/// docs/TESTING.md describes what it tests and what it cannot detect.
@main
enum SimulationHarness {
    private static let usage = """
        usage: SimulationHarness run --scratch FOLDER (--seed N [--count N] [--stride N] | --list FILE) [--steps N] [--plant NAME]
                                     [--progress FILE] [--trace] [--watch ID] [--first]
               SimulationHarness live --scratch FOLDER --seed N --seconds N [--patience N] [--plant NAME] [--trace]
               SimulationHarness kill --scratch FOLDER --seed N [--stride N] [--moments N] [--plant NAME] [--lie] [--first]
               SimulationHarness work --folder FOLDER --seed N [--die N] [--steps N] [--plant NAME] [--lie]
        """

    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        do {
            let arguments = try Arguments(words.dropFirst(), flags: ["trace", "first", "lie"])
            switch words.first {
            case "run": try await SeedRun(arguments).run()
            case "live": try await LiveRun(arguments).run()
            case "kill": try await KillRun(arguments).run()
            case "work":
                var worker = try KilledWorker(arguments)
                try await worker.run()
            default: throw Arguments.Misuse(description: usage)
            }
        } catch {
            endHarness(error, in: words.first)
        }
    }
}
