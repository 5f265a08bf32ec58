/// Help in the form that Swift's command line tools share.
enum HelpText {
    /// The column in which explanations begin.
    private static let indent = 26

    static func overview(of verbs: [VerbDescription], width: Int) -> String {
        let options = [("--version", "Show the version."), ("-h, --help", OptionDescription.help.help)]
        return [
            "OVERVIEW: Looks into a HealthKV store, checks it and copies it.",
            "USAGE: kvinspect <subcommand>",
            section("OPTIONS", options, width),
            section("SUBCOMMANDS", verbs.map { ($0.name, $0.abstract) }, width)
                + "\n\n  See 'kvinspect help <subcommand>' for detailed help.",
        ].joined(separator: "\n\n")
    }

    static func text(for verb: VerbDescription, width: Int) -> String {
        var parts = ["OVERVIEW: \(wrapped(verb.abstract, width: width, indent: 0, first: 10))"]
        if !verb.discussion.isEmpty { parts.append(wrapped(verb.discussion, width: width, indent: 0)) }
        parts.append("USAGE: \(wrapped(verb.usage, width: width, indent: 2, first: 7))")
        if !verb.arguments.isEmpty {
            parts.append(section("ARGUMENTS", verb.arguments.map { ($0.label, $0.help) }, width))
        }
        let options = verb.options.map { ($0.helpLabel, $0.fullHelp) } + [("-h, --help", OptionDescription.help.help)]
        parts.append(section("OPTIONS", options, width))
        return parts.joined(separator: "\n\n")
    }

    private static func section(_ title: String, _ rows: [(label: String, help: String)], _ width: Int) -> String {
        let lines = rows.map { row in
            let help = wrapped(row.help, width: width, indent: indent, first: indent)
            let label = "  \(row.label)"
            if label.count >= indent { return "\(label)\n\(spaces(indent))\(help)" }
            return "\(label)\(spaces(indent - label.count))\(help)"
        }
        return "\(title):\n\(lines.joined(separator: "\n"))"
    }

    private static func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }

    /// The text broken at spaces outside brackets; `first` is the column at which its first line begins.
    private static func wrapped(_ text: String, width: Int, indent: Int, first: Int = 0) -> String {
        var lines: [String] = []
        var line = ""
        var room = max(width - first, 20)
        for word in words(of: text) {
            if !line.isEmpty, line.count + 1 + word.count > room {
                lines.append(line)
                line = ""
                room = max(width - indent, 20)
            }
            line += line.isEmpty ? word : " \(word)"
        }
        return (lines + [line]).joined(separator: "\n\(spaces(indent))")
    }

    /// Words; what stands in square brackets is one.
    private static func words(of text: String) -> [String] {
        var words: [String] = []
        var open = false
        for piece in text.split(separator: " ") {
            if open, !words.isEmpty { words[words.count - 1] += " \(piece)" } else { words.append(String(piece)) }
            if piece.hasPrefix("[") { open = true }
            if piece.hasSuffix("]") { open = false }
        }
        return words
    }
}
