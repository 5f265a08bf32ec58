/// `kvinspect help [VERB]`
enum HelpVerb: Verb {
    static let description = VerbDescription(
        name: "help", abstract: "Show what the tool or one of its verbs does.",
        arguments: [ArgumentDescription(name: "verb", help: "The verb to explain.", isOptional: true)])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let verb = try arguments.optionalArgument("verb").map(Tool.verb(named:))
        try print(verb?.description, console)
        return .clean
    }

    static func print(_ verb: VerbDescription?, _ console: Console) throws {
        let text =
            verb.map { HelpText.text(for: $0, width: console.width) }
            ?? HelpText.overview(of: Tool.verbs.map { $0.description }, width: console.width)
        try console.print(text)
    }
}
