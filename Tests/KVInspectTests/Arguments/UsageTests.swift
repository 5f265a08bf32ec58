import Testing

@testable import kvinspect

@Suite("Usage")
struct UsageTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    @Test("Wrong usage exits with 64, explains the error on the error output and prints nothing else")
    func wrongUsage() throws {
        let cases: [(arguments: [String], words: String)] = [
            (["stats", "S", "--type", "stepCount", "--by", "fortnight"], "Error: The value 'fortnight' is invalid"),
            (["scan"], "Error: Missing expected argument '<store>'"),
            (["scan", "S"], "Error: Missing expected argument '--type <type>'"),
            (["scan", "S", "--typ", "x"], "Error: Unknown option '--typ'. Did you mean '--type'?"),
            (["scan", "S", "--type"], "Error: Missing value for '--type <type>'"),
            (["scan", "S", "--type", "a", "--limit=-1"], "Error: The value '-1' is invalid for '--limit <count>'"),
            (["scan", "S", "--type", "a", "--limit", "-1"], "Error: The value '-1' is invalid for '--limit <count>'"),
            (["dump", "S", "--format", "xml"], "Error: The value 'xml' is invalid for '--format <format>'"),
            (["dump", "S", "--all", "--format", "csv"], "Error: --all is for --format json and jsonl"),
            (["dump", "S", "--raw", "--format", "jsonl"], "Error: --raw and --format exclude each other"),
            (["scan", "S", "--type="], "Error: The value '' is invalid for '--type <type>'"),
            (["stats", "S", "--type", ""], "Error: The value '' is invalid for '--type <type>'"),
            (["hash", "S", "--tz", "UTC"], "Error: Unknown option '--tz'"),
            (
                ["scan", "S", "--type", "a", "--format", "xml"],
                "Error: The value 'xml' is invalid for '--format <format>'"
            ),
            (["scan", "S", "--type", "a", "--order", "up"], "Please provide one of 'asc' or 'desc'."),
            (["scan", "S", "--type", "a", "--from", "yesterday"], "Error: The value 'yesterday' is invalid"),
            (["scan", "S", "--type", "a", "--to", "2023-02-29"], "Error: The value '2023-02-29' is invalid"),
            (["scan", "S", "--type", "a", "--tz", "Mars/Base"], "Error: The value 'Mars/Base' is invalid"),
            (["scan", "S", "--type", "stepCount", "--unit", "kg"], "Values of stepCount are measured in count."),
            (["scan", "S", "--type", "a", "--unit", "stone"], "Error: The value 'stone' is invalid"),
            (["scan", "S", "--type", "a", "--shadowed=yes"], "Error: The option '--shadowed' does not take any value"),
            (["scan", "S", "--type", "a", "--tz", "+20:00"], "Error: The value '+20:00' is invalid"),
            (["changes", "S", "--since", "nonsense"], "Error: The value 'nonsense' is invalid"),
            (["changes", "S", "--limit", "0"], "Please provide a whole number from 1 on."),
            (["info", "S", "T"], "Error: Unexpected argument 'T'"),
            (["info", "S", "T", "U"], "Error: 2 unexpected arguments: 'T', 'U'"),
            (["get", "S"], "Error: Missing expected argument '<id>'"),
            (["--frobnicate"], "Error: Unknown option '--frobnicate'"),
            (["help", "nothing"], "Error: Unexpected argument 'nothing'"),
            (["report", "S"], "Error: Missing expected argument '--output <file>'"),
            (["report", "S", "-o"], "Error: Missing value for '--output <file>'"),
            (["report", "S", "-o", ""], "Error: The value '' is invalid for '--output <file>'"),
            (["report", "S", "-f"], "Error: Unknown option '-f'"),
            (["load", "S", "--from-line", "first"], "Error: The value 'first' is invalid for '--from-line <line>'"),
        ]
        for (arguments, words) in cases {
            let run = try bench.run(arguments, input: nil)
            #expect(run.code == 64, "\(arguments)")
            #expect(run.output.isEmpty, "\(arguments)")
            #expect(run.errors.contains(words), "\(arguments): \(run.errors)")
            #expect(run.errors.contains("\nUsage: kvinspect"), "\(arguments)")
            #expect(run.errors.contains("--help' for more information."), "\(arguments)")
        }
        #expect(!bench.exists("S"), "nothing was made on the way")
    }

    @Test("A usage error shows the verb's usage and how to get help")
    func form() throws {
        let run = try bench.run("get", "S", "--x")
        #expect(
            run.errors == """
                Error: Unknown option '--x'
                Usage: kvinspect get <store> <id> [--format <format>] [--tz <zone>] [--progress <mode>]
                  See 'kvinspect get --help' for more information.

                """)
    }

    @Test("Options may be anywhere, with a space or an equals sign, and -- ends them")
    func options() throws {
        let verb = ScanVerb.description
        let spaced = try ArgumentParser.parse(["--type", "a", "S", "--limit", "3"], for: verb)
        let joined = try ArgumentParser.parse(["S", "--limit=3", "--type=a"], for: verb)
        #expect(spaced.store == "S" && joined.store == "S")
        #expect(try spaced.count("limit") == 3 && joined.count("limit") == 3)
        #expect(spaced.text("type") == "a" && joined.text("type") == "a")
        for words in [["--tz", "-05:00"], ["--tz=-05:00"]] {
            let zoned = try ArgumentParser.parse(["S", "--type", "a"] + words, for: verb)
            #expect(try zoned.zone().offset(at: 0) == -5 * 3600)
        }
        for words in [["-o", "a"], ["-o=a"], ["--output", "a"], ["--output=a"]] {
            #expect(try ArgumentParser.parse(["S"] + words, for: ReportVerb.description).text("output") == "a")
        }
        let dashed = try ArgumentParser.parse(["--type=a=b", "--", "--store"], for: verb)
        #expect(dashed.store == "--store" && dashed.text("type") == "a=b")
    }
}
