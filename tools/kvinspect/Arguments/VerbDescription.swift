/// What a verb accepts. The parser, the usage line, the help, the manual page and the shell completions are all made
/// from this description.
struct VerbDescription: Sendable {
    let name: String
    /// One sentence for the list of verbs and the head of the verb's own help.
    let abstract: String
    /// Further sentences for the verb's own help.
    var discussion = ""
    var arguments: [ArgumentDescription] = []
    var options: [OptionDescription] = []

    /// `kvinspect scan <store> --type <type> [--from <from>] …`
    var usage: String {
        let parts = arguments.map(\.usage) + options.map(\.usage)
        return (["kvinspect", name] + parts).joined(separator: " ")
    }
}

/// What a value names. Shells complete it accordingly.
enum ValueKind: Sendable {
    case text
    case folder
    case file
    /// A type of samples.
    case type
    /// A verb of the tool.
    case verb
}

/// A value that is told apart by its place.
struct ArgumentDescription: Sendable {
    let name: String
    let help: String
    var isOptional = false
    /// The only values allowed, when there are few.
    var choices: [String] = []
    var kind = ValueKind.text

    var label: String { "<\(name)>" }
    var usage: String { isOptional ? "[\(label)]" : label }

    static let store = ArgumentDescription(name: "store", help: "The store's folder.", kind: .folder)
}

/// A value or flag that is told apart by its name.
struct OptionDescription: Sendable {
    let name: String
    /// One letter that may stand for the name.
    var short: String?
    /// What stands for the value in the help; `nil` for a flag.
    var value: String?
    let help: String
    var isRequired = false
    /// The only values allowed, when there are few.
    var choices: [String] = []
    var defaultValue: String?
    var kind = ValueKind.text

    var label: String { value.map { "--\(name) <\($0)>" } ?? "--\(name)" }
    var usage: String { isRequired ? label : "[\(label)]" }
    /// The label with the short form before it.
    var helpLabel: String { short.map { "-\($0), \(label)" } ?? label }

    /// Whether a word of the command line means the option.
    func isNamed(_ word: String) -> Bool { word == "--\(name)" || short.map { word == "-\($0)" } ?? false }

    /// The help with what the parser itself knows of the option.
    var fullHelp: String {
        var notes: [String] = []
        if !choices.isEmpty { notes.append("values: \(choices.joined(separator: ", "))") }
        if let defaultValue { notes.append("default: \(defaultValue)") }
        return notes.isEmpty ? help : "\(help) (\(notes.joined(separator: "; ")))"
    }
}

extension OptionDescription {
    static let format = OptionDescription(
        name: "format", value: "format", help: "How to print.", choices: OutputFormat.allCases.map(\.rawValue),
        defaultValue: "table; for lists jsonl where the output is no terminal")
    static let zone = OptionDescription(
        name: "tz", value: "zone", help: "The time zone of dates without one, such as Europe/Berlin, UTC or +05:45.",
        defaultValue: "local")
    static let progress = OptionDescription(
        name: "progress", value: "mode", help: "Report progress on the error output; auto: a bar on a terminal.",
        choices: ProgressMode.allCases.map(\.rawValue), defaultValue: "auto")
    static let type = OptionDescription(
        name: "type", value: "type", help: "A type by HealthKit identifier or short name, such as stepCount.",
        isRequired: true, kind: .type)
    static let from = OptionDescription(name: "from", value: "date", help: "Only samples from this ISO 8601 date on.")
    static let to = OptionDescription(name: "to", value: "date", help: "Only samples before this ISO 8601 date.")
    static let filter = OptionDescription(
        name: "where", value: "filter",
        help: "Only samples that match, as in 'value >= 80 kg and (source = \"Scale\" or not user-entered)'.")
    static let skipDamaged = OptionDescription(
        name: "skip-damaged", help: "Pass over damaged parts, name them on the error output, and end with code 2.")
    static let exactDamage = OptionDescription(
        name: "show-values", help: "Print the exact times of damaged ranges, not only their days.")
    static let help = OptionDescription(name: "help", help: "Show help information.")
}
