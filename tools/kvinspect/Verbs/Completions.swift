/// `kvinspect completions bash`
enum CompletionsVerb: Verb {
    static let description = VerbDescription(
        name: "completions", abstract: "Print a script that lets a shell complete verbs, options and values.",
        discussion:
            "bash: source <(kvinspect completions bash). zsh: put it into a folder of $fpath as _kvinspect. fish: put it into "
            + "~/.config/fish/completions as kvinspect.fish. 'tools/install' puts all three where the shells look.",
        arguments: [
            ArgumentDescription(
                name: "shell", help: "'bash', 'zsh' or 'fish'.", choices: Shell.allCases.map(\.rawValue))
        ],
        options: [.format])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let shell = Shell(rawValue: arguments.argument("shell")) ?? .bash
        let script = shell.script(for: Verbs.all.map { $0.description })
        try Answer.print(
            [.init("shell", .string(shell.rawValue)), .init("script", .string(script))], arguments, console
        ) { [script] }
        return .clean
    }
}
