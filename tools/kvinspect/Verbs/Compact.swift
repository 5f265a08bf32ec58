import HealthKV

/// `kvinspect compact STORE DEST`
enum CompactVerb: Verb {
    static let description = VerbDescription(
        name: "compact", abstract: "Copy a store without its free pages.",
        discussion:
            "The store itself stays as it is; the copy is one snapshot, synced before the verb ends. "
            + StoreCopy.verification,
        arguments: [.store, .destination], options: [.format, .progress])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        try StoreCopy.run(arguments, console, what: "a compacted copy", size: \.liveBytes) {
            try $0.compact(to: $1, progress: $2)
        }
    }
}
