import HealthKV

/// The ranges that a verb skipped because they are damaged.
enum LostParts {
    /// Prints each lost range, by days or with `--show-values` by times, and returns the exit code.
    static func report(
        _ parts: [DamagedRange], in zone: Zone, _ arguments: ParsedArguments, _ console: Console
    ) -> ExitCode {
        let isExact = arguments.flag(OptionDescription.exactDamage.name)
        var said: Set<String> = []
        for part in parts {
            let span = span(part.starts.from, part.starts.to, in: zone, isExact)
            let text = "Damaged: samples of \(part.type.shortName) that start \(span) are left out."
            // Several ranges may be on the same days.
            if said.insert(text).inserted { console.say(text) }
        }
        if !parts.isEmpty { console.say("'kvinspect dump --salvage' and 'repair' may keep more of them.") }
        return parts.isEmpty ? .clean : .damage
    }

    /// A range of starts in words, by days or by times.
    static func span(_ from: Instant, _ to: Instant, in zone: Zone, _ isExact: Bool) -> String {
        let begin = from == .distantPast ? "from the beginning" : "from \(text(from, in: zone, isExact))"
        // The end is exclusive; the last day is inclusive.
        let end = to == .distantFuture ? "on" : "to \(text(isExact ? to : to + -1, in: zone, isExact))"
        return "\(begin) \(end)"
    }

    private static func text(_ instant: Instant, in zone: Zone, _ isExact: Bool) -> String {
        let text = DateText.text(instant, in: zone)
        return isExact ? text : String(text.prefix { $0 != "T" })
    }
}
