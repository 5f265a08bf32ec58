import Foundation
import Testing

@testable import kvinspect

@Suite("The manual page")
struct ManualPageTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    @Test("It explains every verb and option, the exit status and examples")
    func content() throws {
        let run = try bench.run("help", "--format", "man")
        #expect(run.code == 0 && run.errors.isEmpty)
        for section in ["NAME", "SYNOPSIS", "VERBS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES"] {
            #expect(run.output.contains("\n.SH \(section)\n"))
        }
        for verb in Verbs.all.map({ $0.description }) {
            #expect(run.output.contains("\n.SS \(verb.name)"), "\(verb.name)")
            for option in verb.options {
                let name = option.name.split(separator: "-").joined(separator: #"\-"#)
                #expect(run.output.contains(#"\fB\-\-\#(name)\fR"#), "\(option.name)")
            }
        }
    }

    @Test(
        "groff prints it without a warning", .enabled(if: Workbench.program("groff") != nil, "groff is not installed"))
    func groff() throws {
        let page = bench.path("kvinspect.1")
        try Data(try bench.run("help", "--format", "man").output.utf8).write(to: URL(fileURLWithPath: page))
        let run = try bench.runProgram("groff", ["-man", "-Tutf8", "-ww", page])
        #expect(run.code == 0 && run.errors.isEmpty, "\(run.errors)")
        // groff fills lines with further blanks.
        #expect(run.output.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains("'dump' wrote"))
    }

    @Test("Its examples are right usage")
    func examples() throws {
        for (words, _) in ManualPage.examples {
            let verb = try Verbs.named(words[0]).description
            _ = try ArgumentParser.parse(Array(words.dropFirst()), for: verb)
        }
    }

    @Test("It is of all verbs, so a verb beside it is refused")
    func oneVerb() throws {
        let run = try bench.run("help", "scan", "--format", "man")
        #expect(run.code == 64 && run.errors.contains("leave the verb out"))
    }
}
