import Testing

@testable import kvinspect

@Suite("Help")
struct HelpTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    @Test("Help goes to the output, ends with 0 and lists every verb")
    func overview() throws {
        let run = try bench.run("--help")
        #expect(run.code == 0 && run.errors.isEmpty)
        for heading in ["OVERVIEW: ", "USAGE: kvinspect <verb>", "OPTIONS:", "VERBS:"] {
            #expect(run.output.contains(heading))
        }
        for verb in Tool.verbs { #expect(run.output.contains("\n  \(verb.description.name) ")) }
        #expect(try bench.run().output == run.output)
        #expect(try bench.run("help").output == run.output)
        #expect(try bench.run("-h").output == run.output)
    }

    @Test("Every verb explains its arguments and options", arguments: Tool.verbs.map { $0.description.name })
    func verb(_ name: String) throws {
        let run = try bench.run(name, "--help")
        #expect(run.code == 0 && run.errors.isEmpty)
        #expect(run.output.hasPrefix("OVERVIEW: "))
        #expect(run.output.contains("\nUSAGE: kvinspect \(name)"))
        #expect(run.output.contains("\nARGUMENTS:\n") && run.output.contains("\nOPTIONS:\n"))
        #expect(run.output.contains("-h, --help"))
        #expect(run.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
        #expect(try bench.run("help", name).output == run.output)
    }

    @Test("--version prints the version")
    func version() throws {
        let run = try bench.run("--version")
        #expect(run.code == 0 && run.output == "\(Tool.version)\n" && run.errors.isEmpty)
    }
}
