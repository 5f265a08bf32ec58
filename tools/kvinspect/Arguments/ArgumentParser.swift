/// Reads a verb's arguments: options as `--name value` or `--name=value`, anywhere; `--` ends them.
struct ArgumentParser {
    let verb: VerbDescription
    private var positionals: [String] = []
    private var values: [String: String] = [:]
    private var flags: Set<String> = []

    /// What the words after the verb mean, or ``HelpRequest``.
    static func parse(_ words: [String], for verb: VerbDescription) throws -> ParsedArguments {
        if words.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
            throw HelpRequest(verb: verb)
        }
        do {
            var parser = ArgumentParser(verb: verb)
            try parser.read(words)
            return try parser.finish()
        } catch var error as UsageError {
            error.verb = verb
            throw error
        }
    }

    private init(verb: VerbDescription) { self.verb = verb }

    private mutating func read(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                positionals.append(contentsOf: rest)
                return
            }
            guard word.hasPrefix("-"), word != "-" else {
                positionals.append(word)
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = verb.options.first(where: { $0.isNamed(parts[0]) }) else {
                throw unknownOption(parts[0])
            }
            try read(option, attached: parts.count > 1 ? parts[1] : nil, from: &rest)
        }
    }

    /// A word that begins with a dash is an option, but `-` alone and negative numbers and distances from UTC are
    /// values.
    private static func isValue(_ word: String) -> Bool {
        guard word.hasPrefix("-"), let second = word.dropFirst().first else { return true }
        return second.isASCII && second.isNumber
    }

    private mutating func read(
        _ option: OptionDescription, attached: String?, from rest: inout ArraySlice<String>
    ) throws {
        guard option.value != nil else {
            guard attached == nil else { throw UsageError("The option '\(option.label)' does not take any value") }
            flags.insert(option.name)
            return
        }
        if let attached {
            values[option.name] = attached
        } else if let next = rest.first, ArgumentParser.isValue(next) {
            values[option.name] = next
            rest.removeFirst()
        } else {
            throw UsageError("Missing value for '\(option.label)'", subject: (option.label, option.fullHelp))
        }
        if !option.choices.isEmpty, let value = values[option.name], !option.choices.contains(value) {
            let one = option.choices.count > 1 ? "one of " : ""
            throw UsageError.invalid(
                value, for: option, reason: "Please provide \(one)\(ArgumentParser.either(option.choices)).")
        }
    }

    private func finish() throws -> ParsedArguments {
        for (index, argument) in verb.arguments.enumerated() where !argument.isOptional && index >= positionals.count {
            throw UsageError(
                "Missing expected argument '\(argument.label)'", subject: (argument.label, argument.help))
        }
        for (argument, word) in zip(verb.arguments, positionals) where word.isEmpty && argument.kind == .folder {
            throw UsageError(
                "The argument '\(argument.label)' is empty", subject: (argument.label, argument.help))
        }
        for (argument, word) in zip(verb.arguments, positionals)
        where !argument.choices.isEmpty && !argument.choices.contains(word) {
            throw UsageError(
                "The value '\(word)' is invalid for '\(argument.label)'. "
                    + "Please provide \(ArgumentParser.either(argument.choices)).")
        }
        for option in verb.options where option.isRequired && values[option.name] == nil {
            throw UsageError("Missing expected argument '\(option.label)'", subject: (option.label, option.fullHelp))
        }
        let surplus = positionals.dropFirst(verb.arguments.count).map { "'\($0)'" }
        if surplus.count == 1 { throw UsageError("Unexpected argument \(surplus[0])") }
        if surplus.count > 1 {
            throw UsageError("\(surplus.count) unexpected arguments: \(surplus.joined(separator: ", "))")
        }
        return ParsedArguments(verb: verb, positionals: positionals, values: values, flags: flags)
    }

    private func unknownOption(_ name: String) -> UsageError {
        let near = Suggestion.closest(to: name, among: verb.options.map { "--\($0.name)" })
        return UsageError("Unknown option '\(name)'" + (near.map { ". Did you mean '\($0)'?" } ?? ""))
    }

    /// "'a', 'b' or 'c'"
    private static func either(_ choices: [String]) -> String {
        let quoted = choices.map { "'\($0)'" }
        guard quoted.count > 1, let last = quoted.last else { return quoted.joined() }
        return "\(quoted.dropLast().joined(separator: ", ")) or \(last)"
    }
}

/// The user asked for help, with a verb or without.
struct HelpRequest: Error {
    let verb: VerbDescription?
}
