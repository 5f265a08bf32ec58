import AppleHealthExport

/// The command line was wrong: exit code 64 and a hint to the right usage.
struct UsageError: Error {
    var message: String
    /// The label and help of the argument in question.
    var subject: (label: String, help: String)?
    /// The verb, where one was recognised.
    var verb: VerbDescription?

    init(_ message: String, subject: (label: String, help: String)? = nil, verb: VerbDescription? = nil) {
        self.message = message
        self.subject = subject
        self.verb = verb
    }

    /// The text for the error output.
    var text: String {
        var lines = ["Error: \(Table.clean(message))"]
        if let subject { lines.append("Help:  \(subject.label)  \(subject.help)") }
        lines.append("Usage: \(verb?.usage ?? "kvinspect <subcommand>")")
        let command = verb.map { "kvinspect \($0.name)" } ?? "kvinspect"
        lines.append("  See '\(command) --help' for more information.")
        return lines.joined(separator: "\n")
    }

    /// A value that an option or argument cannot take. `reason` is a sentence that says what it can take.
    static func invalid(_ value: String, for option: OptionDescription, reason: String? = nil) -> UsageError {
        UsageError(
            "The value '\(value)' is invalid for '\(option.label)'" + (reason.map { ". \($0)" } ?? ""),
            subject: (option.label, option.fullHelp))
    }
}

/// Closest of some names, for "did you mean".
enum Suggestion {
    /// The candidate with the fewest edits, if those are few.
    static func closest(to word: String, among candidates: [String]) -> String? {
        let ranked = candidates.map { (name: $0, distance: EditDistance.between(Array(word.utf8), Array($0.utf8))) }
        let best = ranked.min { $0.distance < $1.distance }
        return best.flatMap { $0.distance <= max(1, word.utf8.count / 4) ? $0.name : nil }
    }

    /// The candidates that are nearest, the best first. Case does not count, and what begins like the word is near.
    static func near(to word: String, among candidates: [String], limit: Int) -> [String] {
        let small = Array(word.lowercased().utf8)
        let ranked = candidates.compactMap { name -> (name: String, distance: Int)? in
            let other = Array(name.lowercased().utf8)
            let shared = zip(small, other).prefix { $0 == $1 }.count
            let edits = EditDistance.between(small, other)
            if edits <= max(1, small.count / 4) { return (name, edits) }
            // A beginning of four letters says more than the edits that the rest takes.
            return shared >= 4 ? (name, small.count + other.count - 2 * shared) : nil
        }
        return ranked.sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.prefix(limit).map(\.name)
    }

    /// A question that names the nearest candidates, with a blank before it; empty if none is near.
    static func question(_ word: String, among candidates: [String]) -> String {
        let names = near(to: word, among: candidates, limit: 3).map { "'\($0)'" }
        return names.isEmpty ? "" : " Did you mean \(names.joined(separator: " or "))?"
    }
}
