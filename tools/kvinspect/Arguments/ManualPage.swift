/// The manual page, in the language of `man`. It is made from the descriptions that help and parser use.
enum ManualPage {
    /// Command lines as they are typed, and what they do.
    static let examples: [(words: [String], text: String)] = [
        (["info", "STORE"], "Show what a store holds and how large it is."),
        (
            [
                "scan", "STORE", "--type", "stepCount", "--from", "2024-01-01", "--to", "2024-02-01", "--format",
                "jsonl",
            ],
            "Print the steps of a month, one JSON object a line."
        ),
        (
            ["stats", "STORE", "--type", "stepCount", "--by", "day", "--tz", "Europe/Berlin"],
            "Print the steps of each day."
        ),
        (["check", "STORE"], "Look for damage; the exit status is 2 if there is some."),
        (["repair", "STORE", "--output", "NEW"], "Save what can be saved of a damaged store."),
        (["dump", "STORE", "--all"], "Print everything, for 'load' to read back."),
        (["watch", "STORE", "--interval", "0.5"], "Show what is written, twice a second."),
        (["backup", "STORE", "COPY"], "Copy a store while others use it."),
    ]

    private static let codes: [(code: ExitCode, meaning: String)] = [
        (.clean, "The tool did what was asked, and found nothing wrong."),
        (.failed, "It could not do what was asked; the error output says why."),
        (.damage, "The store is damaged."),
        (.repaired, "The store was damaged, and a repair lost nothing of it."),
        (.lossyRepair, "The store was damaged, and a repair lost something of it."),
        (.partial, "Only a part was taken in: something was left out."),
        (.different, "'diff' found differences."),
        (.usage, "The command line is wrong."),
    ]

    private static let variables: [(name: String, meaning: String)] = [
        ("COLUMNS", "The width of help if there is no terminal."),
        ("NO_COLOR", "If it is set and not empty, nothing is printed in bold."),
        ("PAGER", "The program that shows tables longer than the terminal; none if it is not set, empty or cat."),
        ("TERM", "If it is dumb, nothing is bold, drawn over or paged."),
        ("TZ", "The time zone of dates without one, if --tz does not name another."),
    ]

    static func text(for verbs: [VerbDescription]) -> String {
        var lines = [
            #".TH KVINSPECT 1 "" "kvinspect \#(ToolVersion.text)" "HealthKV""#, ".SH NAME",
            #"kvinspect \- look into a HealthKV store, check it and copy it"#, ".SH SYNOPSIS", ".B kvinspect",
            #"\fIverb\fR [\fIargument\fR ...] [\fIoption\fR ...]"#, ".br", ".B kvinspect help", #"[\fIverb\fR]"#, ".br",
            #".B kvinspect \-\-version"#, ".SH DESCRIPTION",
            roff(
                "A store is a folder, and most verbs take it as their first argument. Options may be anywhere, as --name value "
                    + "or --name=value; -- ends them. Data goes to the output, everything else to the error output."),
            ".SH VERBS",
        ]
        for verb in verbs { lines += section(of: verb) }
        lines.append(".SH EXIT STATUS")
        for (code, meaning) in codes { lines += entry(".B \(code.rawValue)", meaning) }
        lines.append(".SH ENVIRONMENT")
        for (name, meaning) in variables { lines += entry(".B \(name)", meaning) }
        lines.append(".SH EXAMPLES")
        for (words, text) in examples {
            lines += entry(".B " + roff((["kvinspect"] + words).joined(separator: " ")), text)
        }
        return lines.joined(separator: "\n")
    }

    private static func section(of verb: VerbDescription) -> [String] {
        var lines = [".SS " + roff(([verb.name] + verb.arguments.map(\.usage)).joined(separator: " "))]
        lines.append(roff(verb.abstract))
        if !verb.discussion.isEmpty { lines.append(roff(verb.discussion)) }
        for argument in verb.arguments { lines += entry(#".I "# + roff(argument.name), argument.help) }
        for option in verb.options {
            let value = option.value.map { #" \fI\#(roff($0))\fR"# } ?? ""
            let short = option.short.map { #"\fB"# + roff("-\($0)") + #"\fR, "# } ?? ""
            lines += entry(short + #"\fB"# + roff("--\(option.name)") + #"\fR"# + value, option.fullHelp)
        }
        return lines
    }

    private static func entry(_ head: String, _ text: String) -> [String] { [".TP", head, roff(text)] }

    /// Plain text as roff: a backslash, a hyphen as it is typed, and no line that begins like a request.
    private static func roff(_ text: String) -> String {
        let escaped = text.reduce(into: "") { result, character in
            switch character {
            case "\\": result += #"\e"#
            case "-": result += #"\-"#
            case "'": result += #"\(aq"#
            default: result.append(character)
            }
        }
        return escaped.hasPrefix(".") ? #"\&"# + escaped : escaped
    }
}
