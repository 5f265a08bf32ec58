import HealthKV

/// One run of the tool: find the verb, let it work, turn what happened into text and an exit code.
struct Tool {
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
            try console.print(ToolVersion.text)
            return .clean
        }
        if name.hasPrefix("-") { throw UsageError("Unknown option '\(name)'") }
        let verb = try Verbs.named(name)
        let arguments = try ArgumentParser.parse(Array(words.dropFirst()), for: verb.description)
        return try verb.run(arguments, console)
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
