import HealthKV

/// A shell that can complete the tool's command line.
enum Shell: String, CaseIterable {
    case bash
    case zsh
    case fish

    /// A script for this shell. It holds all that it needs to know, so that completing starts no process.
    func script(for verbs: [VerbDescription]) -> String {
        switch self {
        case .bash: BashCompletion.script(for: verbs)
        case .zsh: ZshCompletion.script(for: verbs)
        case .fish: FishCompletion.script(for: verbs)
        }
    }

    /// The short names of the catalog's types.
    static let typeNames = SampleType.catalog.map(\.shortName).sorted()

    /// The head of a script, in the comment syntax that all three shells share.
    static func head(_ shell: Shell) -> String {
        "# Completions of kvinspect \(ToolVersion.text) for \(shell.rawValue); 'kvinspect completions \(shell.rawValue)' wrote them."
    }
}
