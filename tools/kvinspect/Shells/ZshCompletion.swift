/// Completions for zsh, by its function `_arguments`.
enum ZshCompletion {
    static func script(for verbs: [VerbDescription]) -> String {
        """
        #compdef kvinspect
        \(Shell.head(.zsh))

        _kvinspect_types() {
            local -a types=(\(Shell.typeNames.joined(separator: " ")))
            _describe -t types type types
        }

        _kvinspect_verbs() {
            local -a verbs=(
        \(verbs.map { "        " + ShellWord.quoted("\($0.name):\($0.abstract)") }.joined(separator: "\n"))
            )
            _describe -t verbs verb verbs
        }

        _kvinspect() {
            local context state state_descr line curcontext="$curcontext"
            typeset -A opt_args
            _arguments -C '(- *)'{-h,--help}'[\(message(OptionDescription.help.help))]' \\
                '(- *)--version[Show the version.]' '1:verb:_kvinspect_verbs' '*::: :->rest'
            [[ $state == rest ]] || return
            words=(kvinspect "${words[@]}")
            ((CURRENT += 1))
            case $line[1] in
        \(verbs.map(section).joined(separator: "\n"))
            esac
        }

        if [ "$funcstack[1]" = _kvinspect ]; then
            _kvinspect "$@"
        else
            compdef _kvinspect kvinspect
        fi
        """
    }

    private static func section(_ verb: VerbDescription) -> String {
        let options =
            verb.options.map(specification) + ["'(- *)'{-h,--help}'[\(message(OptionDescription.help.help))]'"]
        let arguments = verb.arguments.enumerated().map { index, argument in
            ShellWord.quoted(
                "\(index + 1):\(argument.isOptional ? ":" : "")\(message(argument.name)):"
                    + action(argument.kind, argument.choices))
        }
        let lines = (["-S"] + options + arguments).joined(separator: " \\\n            ")
        return "    \(verb.name))\n        _arguments \(lines)\n        ;;"
    }

    private static func specification(_ option: OptionDescription) -> String {
        let help = "[\(message(option.help))]"
        guard let value = option.value else { return ShellWord.quoted("--\(option.name)\(help)") }
        return ShellWord.quoted("--\(option.name)=\(help):\(message(value)):\(action(option.kind, option.choices))")
    }

    /// What `_arguments` does for a value.
    private static func action(_ kind: ValueKind, _ choices: [String]) -> String {
        if !choices.isEmpty { return "(\(choices.joined(separator: " ")))" }
        return switch kind {
        case .text: " "
        case .folder: "_files -/"
        case .file: "_files"
        case .type: "_kvinspect_types"
        case .verb: "_kvinspect_verbs"
        }
    }

    /// A text within a specification, where brackets, colons and backslashes mean something.
    private static func message(_ text: String) -> String {
        text.reduce(into: "") { $0 += #"[]:\"#.contains($1) ? "\\\($1)" : String($1) }
            .split(separator: "'", omittingEmptySubsequences: false).joined(separator: "’")
    }
}
