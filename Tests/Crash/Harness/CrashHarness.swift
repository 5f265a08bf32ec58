import TestSupport

/// Tests that a store survives crashes and damage. tools/crash and tools/damage run it; docs/TESTING.md describes what
/// it tests and what it cannot detect.
@main
enum CrashHarness {
    private static let usage = """
        usage: CrashHarness work --store FOLDER --acks FILE --seed N --transactions N [--mass] [--copies FOLDER] [--check] [--lie]
                                 [--unsynced]
               CrashHarness import --store FOLDER --acks FILE --seed N --batches N
               CrashHarness images --log FILE --store FOLDER --scratch FOLDER --count N --seed N [--jobs N] [--import]
                                   [--base FILE] [--keep-going] [--keep FOLDER]
               CrashHarness cut --log FILE --store FOLDER --seed N --output FILE
               CrashHarness damage --scratch FOLDER --count N --seed N [--jobs N] [--kind NAME] [--keep FOLDER]
                                   [--content NAME] [--unwalked] [--forged]
               CrashHarness repair --scratch FOLDER --count N --seed N [--jobs N] [--kind NAME] [--keep FOLDER]
                                   [--content NAME] [--lie]
               CrashHarness killed --scratch FOLDER --count N --seed N [--jobs N] [--keep FOLDER] [--lie]
               CrashHarness mended --scratch FOLDER --count N --seed N [--jobs N] [--lie]
               CrashHarness mend --store FOLDER --output FOLDER [--lie]
               CrashHarness session --store FOLDER --acks FILE --seed N --rows N [--commits N]
               CrashHarness forge --scratch FOLDER --count N --seed N [--jobs N] [--table NAME] [--keep FOLDER]
                                   [--trusting] [--talking] [--census]
               CrashHarness corpus --output FOLDER [--seed N]
               CrashHarness kill --scratch FOLDER --count N --seed N [--jobs N] [--lie]
               CrashHarness power --scratch FOLDER --count N --seed N [--unsynced]
               CrashHarness faults --scratch FOLDER --seed N [--transactions N] [--step N] [--lie]
               CrashHarness processes --scratch FOLDER --seconds N --seed N [--lie]
               CrashHarness openings --scratch FOLDER --count N --seed N [--lie | --together]
        """

    private static let flags: Set<String> = [
        "deaf", "mass", "lie", "import", "check", "keep-going", "unwalked", "forged", "unsynced", "replaces",
        "together", "trusting", "talking", "census",
    ]

    static func main() {
        let words = CommandLine.arguments.dropFirst()
        do {
            let arguments = try Arguments(words.dropFirst(), flags: flags)
            switch words.first {
            case "work": try Worker.run(arguments)
            case "import": try Importer.run(arguments)
            case "cut": try Timeline.cut(arguments)
            case "kill": try Kills.run(arguments)
            #if os(Linux)
                case "power": try PowerCuts.run(arguments)
            #endif
            case "corpus": try Corpus.write(arguments)
            case "damage" where arguments.has("shard"): try DamageRun(arguments).judgeAll()
            case "damage": try DamageTally.run(arguments, Array(words.dropFirst()))
            case "repair" where arguments.has("shard"): try RepairRun(arguments).judgeAll()
            case "repair": try DamageTally.run(arguments, Array(words.dropFirst()), of: "repair")
            case "killed" where arguments.has("shard"): try KilledStores(arguments).judgeAll()
            case "killed": try DamageTally.run(arguments, Array(words.dropFirst()), of: "killed")
            case "mended" where arguments.has("shard"): try RepairKills(arguments).judgeAll()
            case "mended": try DamageTally.run(arguments, Array(words.dropFirst()), of: "mended")
            case "mend": try RepairingProcess.run(arguments)
            case "session": try KilledSession.run(arguments)
            case "forge" where arguments.has("shard"): try ForgingRun(arguments).judgeAll()
            case "forge": try ForgingTally.run(arguments, Array(words.dropFirst()))
            case "faults": try Faults.run(arguments)
            case "processes": try Processes.run(arguments)
            case "process": try Processes.work(arguments)
            case "openings": try Openings.run(arguments)
            case "opening": try Openings.work(arguments)
            case "images" where arguments.has("shard"): try ImageRun(arguments).judgeAll()
            case "images": try ImageTally.run(arguments, Array(words.dropFirst()))
            default: throw Arguments.Misuse(description: usage)
            }
        } catch {
            endHarness(error, in: words.first)
        }
    }
}
