import HealthKV

/// What a verb passed over because it is damaged.
enum LostParts {
    /// Names each part, and answers how the tool ends.
    static func report(_ parts: [DamagedRange], in zone: Zone, _ console: Console) -> ExitCode {
        for part in parts {
            let (from, to) = (part.starts.from, part.starts.to)
            let begin = from == .distantPast ? "from the beginning" : "from \(DateText.text(from, in: zone))"
            let end = to == .distantFuture ? "on" : "to \(DateText.text(to, in: zone))"
            console.say("Damaged: samples of \(part.type.shortName) that start \(begin) \(end) cannot be read.")
        }
        return parts.isEmpty ? .clean : .damage
    }
}
