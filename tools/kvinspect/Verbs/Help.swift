/// `kvinspect help [VERB]`
enum HelpVerb: Verb {
    /// The format of the manual page, which is the same for every reader.
    private static let manual = "man"

    static let description = VerbDescription(
        name: "help", abstract: "Show what the tool or one of its verbs does.",
        arguments: [ArgumentDescription(name: "verb", help: "The verb to explain.", isOptional: true, kind: .verb)],
        options: [
            OptionDescription(
                name: OptionDescription.format.name, value: "format",
                help:
                    "How to print; a table is a text for people, man the manual page of all verbs, and the others list verbs "
                    + "with what they take.",
                choices: OutputFormat.allCases.map(\.rawValue) + [manual], defaultValue: OutputFormat.table.rawValue)
        ])

    private static let shape = Listing.Shape(
        key: "verbs", columns: ["name", "abstract", "discussion", "usage", "arguments", "options"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let verb = try arguments.optionalArgument("verb").map(Verbs.named)
        if arguments.text(OptionDescription.format.name) == manual {
            guard verb == nil else {
                throw UsageError("The manual page is of all verbs; leave the verb out", verb: description)
            }
            try console.print(ManualPage.text(for: Verbs.all.map { $0.description }))
            return .clean
        }
        guard arguments.format != .table else {
            try print(verb?.description, console)
            return .clean
        }
        try Listing.print(shape, arguments, console) { listing in
            for verb in verb.map({ [$0] }) ?? Verbs.all { try listing.append(fields(of: verb.description)) }
            return []
        }
        return .clean
    }

    static func print(_ verb: VerbDescription?, _ console: Console) throws {
        let text =
            verb.map { HelpText.text(for: $0, width: console.width) }
            ?? HelpText.overview(of: Verbs.all.map { $0.description }, width: console.width)
        try console.print(text)
    }

    /// All that the parser knows of a verb, too.
    private static func fields(of verb: VerbDescription) -> JSONValue {
        .object([
            .init("name", .string(verb.name)), .init("abstract", .string(verb.abstract)),
            .init("discussion", .string(verb.discussion)), .init("usage", .string(verb.usage)),
            .init("arguments", .array(verb.arguments.map(fields(of:)))),
            .init("options", .array(verb.options.map(fields(of:)))),
        ])
    }

    private static func fields(of argument: ArgumentDescription) -> JSONValue {
        .object([
            .init("name", .string(argument.name)), .init("help", .string(argument.help)),
            .init("required", .bool(!argument.isOptional)),
            .init("choices", .array(argument.choices.map { .string($0) })),
        ])
    }

    /// A flag has no value.
    private static func fields(of option: OptionDescription) -> JSONValue {
        .object([
            .init("name", .string(option.name)), .init("short", .optional(option.short)),
            .init("value", .optional(option.value)), .init("help", .string(option.help)),
            .init("required", .bool(option.isRequired)),
            .init("default", .optional(option.defaultValue)),
            .init("choices", .array(option.choices.map { .string($0) })),
        ])
    }
}
