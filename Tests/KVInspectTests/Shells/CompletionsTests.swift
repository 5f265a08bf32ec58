import Foundation
import Testing

@testable import kvinspect

@Suite("Completions")
struct CompletionsTests {
    let bench: Workbench

    init() throws { bench = try Workbench() }

    private func save(_ shell: String) throws -> String {
        let run = try bench.run("completions", shell)
        try #require(run.code == 0 && run.errors.isEmpty, "\(run.errors)")
        try Data(run.output.utf8).write(to: URL(fileURLWithPath: bench.path("script.\(shell)")))
        return bench.path("script.\(shell)")
    }

    /// What bash offers behind these words, of which the last one is being written.
    private func offered(_ words: String...) throws -> [String] {
        let probe = """
            source "$0"
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _kvinspect
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let run = try bench.runProgram("bash", ["-c", probe, try save("bash"), "kvinspect"] + words)
        return run.output.split(separator: "\n").map(String.init)
    }

    @Test(
        "Each shell accepts its script",
        arguments: Shell.allCases.map(\.rawValue).filter { Workbench.program($0) != nil })
    func syntax(shell: String) throws {
        let run = try bench.runProgram(shell, ["-n", try save(shell)])
        #expect(run.code == 0 && run.errors.isEmpty, "\(run.errors)")
    }

    @Test("Every script names every verb, option and type", arguments: Shell.allCases)
    func complete(shell: Shell) throws {
        let script = shell.script(for: Verbs.all.map { $0.description })
        let words = Set(script.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.map(String.init))
        let dashes = shell == .fish ? "" : "--"
        for verb in Verbs.all.map({ $0.description }) {
            #expect(words.contains(verb.name))
            for option in verb.options { #expect(words.contains(dashes + option.name), "\(verb.name) \(option.name)") }
        }
        #expect(words.contains("stepCount") && words.contains("sleepAnalysis"))
    }

    @Test(
        "Bash completes verbs, options, values, folders and files",
        .enabled(if: Workbench.program("bash") != nil, "bash is not installed"))
    func bash() throws {
        try FileManager.default.createDirectory(atPath: bench.path("a store"), withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: bench.path("a file")))
        let verbs = Verbs.all.map { $0.description.name }
        #expect(try offered("") == verbs + ["--help", "--version"])
        #expect(try offered("st") == verbs.filter { $0.hasPrefix("st") })
        #expect(
            try offered("scan", "S", "--") == ScanVerb.description.options.map { "--\($0.name)" } + ["--help"])
        #expect(try offered("scan", "S", "--format", "") == OutputFormat.allCases.map(\.rawValue))
        #expect(try offered("scan", "S", "--format", "=", "j") == ["json", "jsonl"])
        #expect(try offered("scan", "--limit", "3", "a") == ["a store"])
        #expect(try offered("scan", "S", "--limit", "") == [])
        #expect(try offered("scan", "S", "--type", "stepC") == ["stepCount"])
        #expect(try offered("load", "S", "a").sorted() == ["a file", "a store"])
        #expect(try offered("pending", "S", "") == ["retry", "discard"])
        #expect(try offered("help", "pen") == ["pending"])
        #expect(try offered("unknown", "") == [])
    }

    @Test(
        "fish completes verbs, options and values",
        .enabled(if: Workbench.program("fish") != nil, "fish is not installed"))
    func fish() throws {
        let script = try save("fish")
        func offered(_ line: String) throws -> Set<String> {
            let run = try bench.runProgram("fish", ["--no-config", "-c", "source '\(script)'; complete -C '\(line)'"])
            return Set(run.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) })
        }
        #expect(try offered("kvinspect st").contains("stats"))
        #expect(try offered("kvinspect scan S --ty") == ["--type"])
        #expect(try offered("kvinspect scan S --format ") == Set(OutputFormat.allCases.map(\.rawValue)))
        #expect(try offered("kvinspect scan S --type stepC").contains("stepCount"))
        #expect(try offered("kvinspect pending --peer health S ") == ["retry", "discard"])
    }

    @Test("A shell that is not known is refused")
    func unknown() throws {
        let run = try bench.run("completions", "csh")
        #expect(run.code == 64 && run.output.isEmpty)
        #expect(run.errors.contains("is invalid for '<shell>'. Please provide 'bash', 'zsh' or 'fish'."))
    }
}
