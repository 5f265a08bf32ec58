import HealthKV

/// One run of the tool: find the verb, let it work, turn what happened into text and an exit code.
struct Tool {
    /// The version of the tool and of the package that it belongs to.
    static let version = "0.1.0"

    /// The version of what the tool prints as JSON; see the key `kvinspect` of every envelope.
    static let contractVersion: Int64 = 1

    static let verbs: [any Verb.Type] = [
        InfoVerb.self, TypesVerb.self, SourcesVerb.self, GetVerb.self, ScanVerb.self, StatsVerb.self, ChangesVerb.self,
        AnchorsVerb.self, PendingVerb.self, ConflictsVerb.self, DumpVerb.self, LoadVerb.self, ImportVerb.self,
        ExportVerb.self,
        HashVerb.self,
        DiffVerb.self, PagesVerb.self, PageVerb.self, CheckVerb.self, RepairVerb.self, ReportVerb.self, WatchVerb.self,
        BackupVerb.self, CompactVerb.self, CompletionsVerb.self, HelpVerb.self,
    ]

    let console: Console

    func run(_ words: [String]) -> ExitCode {
        let code = outcome { try dispatch(words) }
        // What was printed before an error is still owed to the reader.
        let flushed = outcome {
            try console.finish()
            return .clean
        }
        return code == .clean ? flushed : code
    }

    private func dispatch(_ words: [String]) throws -> ExitCode {
        guard let name = words.first, name != "--help", name != "-h" else { throw HelpRequest(verb: nil) }
        if name == "--version" {
            try console.print(Tool.version)
            return .clean
        }
        if name.hasPrefix("-") { throw UsageError("Unknown option '\(name)'") }
        let verb = try Tool.verb(named: name)
        let arguments = try ArgumentParser.parse(Array(words.dropFirst()), for: verb.description)
        return try verb.run(arguments, console)
    }

    static func verb(named name: String) throws -> any Verb.Type {
        if let verb = verbs.first(where: { $0.description.name == name }) { return verb }
        let near = Suggestion.closest(to: name, among: verbs.map { $0.description.name })
        throw UsageError("Unknown verb '\(name)'" + (near.map { ". Did you mean '\($0)'?" } ?? ""))
    }

    /// Runs `body`; every error becomes words on the error output and a code.
    private func outcome(_ body: () throws -> ExitCode) -> ExitCode {
        do {
            return try body()
        } catch let request as HelpRequest {
            return outcome {
                try HelpVerb.print(request.verb, console)
                return .clean
            }
        } catch is OutputClosed {
            return .clean
        } catch is Interruption {
            console.say("Error: Interrupted.")
            return .failed
        } catch let error as UsageError {
            console.say(error.text)
            return .usage
        } catch let failure as Failure {
            console.say("Error: \(Table.clean(failure.message))")
            return failure.code
        } catch {
            console.say("Error: \(Table.clean(StoreAccess.text(for: error)))")
            return StoreAccess.code(for: error)
        }
    }
}

/// One verb of the tool.
protocol Verb: Sendable {
    static var description: VerbDescription { get }
    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode
}
