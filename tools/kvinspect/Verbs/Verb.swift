/// One verb of the tool.
protocol Verb: Sendable {
    static var description: VerbDescription { get }
    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode
}

/// All verbs, in the order of the help.
enum Verbs {
    static let all: [any Verb.Type] = [
        InfoVerb.self, TypesVerb.self, SourcesVerb.self, GetVerb.self, ScanVerb.self, StatsVerb.self, ChangesVerb.self,
        AnchorsVerb.self, PendingVerb.self, ConflictsVerb.self, DumpVerb.self, LoadVerb.self, ImportVerb.self,
        ExportVerb.self, HashVerb.self, DiffVerb.self, PagesVerb.self, PageVerb.self, CheckVerb.self, RepairVerb.self,
        ReportVerb.self, WatchVerb.self, BackupVerb.self, CompactVerb.self, CompletionsVerb.self, HelpVerb.self,
    ]

    static func named(_ name: String) throws -> any Verb.Type {
        if let verb = all.first(where: { $0.description.name == name }) { return verb }
        let near = Suggestion.closest(to: name, among: all.map { $0.description.name })
        throw UsageError("Unexpected argument '\(name)'" + (near.map { ". Did you mean '\($0)'?" } ?? ""))
    }
}
