/// Completions for fish.
enum FishCompletion {
    static func script(for verbs: [VerbDescription]) -> String {
        """
        \(Shell.head(.fish))

        # Succeeds if the verb is the first argument; without one, if the first argument is being written.
        function __kvinspect_verb
            set -l words (commandline -opc)
            test "$words[2]" = "$argv[1]"
        end

        # Succeeds if the argument of a verb at a place is being written. Options with a value follow the place.
        function __kvinspect_at
            __kvinspect_verb $argv[1]; or return
            set -l words (commandline -opc)
            set -l place 1
            set -l skips 0
            for word in $words[3..]
                if test $skips -eq 1
                    set skips 0
                else if string match -q -- '-?*' $word
                    contains -- $word $argv[3..]; and set skips 1
                else
                    set place (math $place + 1)
                end
            end
            test $place -eq $argv[2]
        end

        complete -c kvinspect -f
        complete -c kvinspect -n '__kvinspect_verb' -l version -d 'Show the version.'
        complete -c kvinspect -s h -l help -d \(quoted(OptionDescription.help.help))
        \((verbs.map(name) + verbs.flatMap { lines($0, of: verbs) }).joined(separator: "\n"))
        """
    }

    private static func name(_ verb: VerbDescription) -> String {
        "complete -c kvinspect -n '__kvinspect_verb' -a \(verb.name) -d \(quoted(verb.abstract))"
    }

    private static func lines(_ verb: VerbDescription, of verbs: [VerbDescription]) -> [String] {
        let names = verbs.map(\.name)
        let valued = verb.options.filter { $0.value != nil }.map { " --\($0.name)" }.joined()
        let arguments = verb.arguments.enumerated().compactMap { index, argument -> String? in
            guard let action = action(argument.kind, argument.choices, names) else { return nil }
            return "complete -c kvinspect -n '__kvinspect_at \(verb.name) \(index + 1)\(valued)' \(action)"
        }
        let options = verb.options.map { option -> String in
            let value = option.value == nil ? "" : " -x \(action(option.kind, option.choices, names) ?? "")"
            let line = "complete -c kvinspect -n '__kvinspect_verb \(verb.name)' -l \(option.name)\(value)"
            return "\(line) -d \(quoted(option.help))"
        }
        return arguments + options
    }

    /// What completes a value; `nil` for free text.
    private static func action(_ kind: ValueKind, _ choices: [String], _ verbs: [String]) -> String? {
        if !choices.isEmpty { return "-a \(quoted(choices.joined(separator: " ")))" }
        return switch kind {
        case .text: nil
        case .folder: "-a '(__fish_complete_directories)'"
        case .file: "-a '(__fish_complete_path)'"
        case .type: "-a \(quoted(Shell.typeNames.joined(separator: " ")))"
        case .verb: "-a \(quoted(verbs.joined(separator: " ")))"
        }
    }

    /// A text between single quotes, as fish reads it.
    private static func quoted(_ text: String) -> String {
        "'" + text.reduce(into: "") { $0 += #"'\"#.contains($1) ? "\\\($1)" : String($1) } + "'"
    }
}
