import HealthKV

/// The words of a command line, sorted by what they mean. Values are interpreted on demand; a wrong one is a
/// ``UsageError``.
struct ParsedArguments {
    let verb: VerbDescription
    let positionals: [String]
    let values: [String: String]
    let flags: Set<String>

    /// The argument of that name, which the parser has seen to be there.
    func argument(_ name: String) -> String { optionalArgument(name) ?? "" }

    func optionalArgument(_ name: String) -> String? {
        guard let index = verb.arguments.firstIndex(where: { $0.name == name }), index < positionals.count else {
            return nil
        }
        return positionals[index]
    }

    /// The folder of the store.
    var store: String { argument(ArgumentDescription.store.name) }

    func flag(_ name: String) -> Bool { flags.contains(name) }

    func text(_ name: String) -> String? { values[name] }

    /// The type that was asked for.
    func type() throws -> SampleType {
        let name = text(OptionDescription.type.name) ?? ""
        guard !name.isEmpty else {
            throw invalid(OptionDescription.type.name, reason: "Please provide a type such as stepCount.")
        }
        return SampleType(name)
    }

    /// A whole number from zero on.
    func count(_ name: String) throws -> Int? {
        try convert(name, reason: "Please provide a whole number from 0 on.") { Int($0).flatMap { $0 < 0 ? nil : $0 } }
    }

    /// One of the option's choices; the parser has refused all others.
    func choice<Choice: RawRepresentable<String>>(_ name: String, default standard: Choice) -> Choice {
        values[name].flatMap(Choice.init(rawValue:)) ?? standard
    }

    /// How a single answer is printed.
    var format: OutputFormat { choice(OptionDescription.format.name, default: .table) }

    /// How a list is printed: as a table on a terminal, otherwise as JSON Lines.
    func listFormat(_ console: Console) -> OutputFormat {
        choice(OptionDescription.format.name, default: console.isOutputTerminal ? .table : .jsonl)
    }

    var progress: ProgressMode { choice(OptionDescription.progress.name, default: .auto) }

    /// The time zone of dates without one.
    func zone() throws -> Zone {
        try convert(OptionDescription.zone.name, reason: "Please provide a name such as Europe/Berlin, UTC or +05:45.")
        {
            Zone(name: $0)
        } ?? .local
    }

    /// A date as a bound of a range.
    func bound(_ name: String, in zone: Zone) throws -> DateText.Bound? {
        let reason = "Write a date as 2024-05-31, 2024-05-31T08:00 or 2024-05-31T08:00:00.5+02:00."
        return try convert(name, reason: reason) { DateText.bound($0, in: zone) }
    }

    /// The range from --from to --to.
    func range(in zone: Zone) throws -> TimeRange {
        TimeRange(
            from: try bound("from", in: zone) ?? .distantPast, to: try bound("to", in: zone) ?? .distantFuture)
    }

    /// The same for verbs that would store or write nothing if its ends were exchanged.
    func orderedRange(in zone: Zone) throws -> TimeRange {
        let range = try range(in: zone)
        if range.from > range.to { throw invalid("to", reason: "It must not be before --from.") }
        return range
    }

    /// The condition that samples of a type must meet; `nil` for none.
    func filter(of type: SampleType) throws -> SampleFilter? {
        let name = OptionDescription.filter.name
        guard let text = values[name] else { return nil }
        let filter: SampleFilter
        do {
            filter = try SampleFilter(parsing: text)
        } catch {
            throw invalid(name, reason: "\(error)")
        }
        if let canonical = type.canonicalUnit,
            let other = filter.units.first(where: { !$0.isCompatible(with: canonical) })
        {
            throw invalid(
                name, reason: "Values of \(type) are measured in \(canonical), which \(other) cannot express.")
        }
        return filter
    }

    /// Converts the option's value. If `body` returns `nil`, throws a usage error that ends with `reason`.
    func convert<Value>(_ name: String, reason: String, _ body: (String) throws -> Value?) throws -> Value? {
        guard let text = values[name] else { return nil }
        guard let value = try body(text) else { throw invalid(name, reason: reason) }
        return value
    }

    /// The usage error that refuses the value of an option.
    func invalid(_ name: String, reason: String) -> UsageError {
        guard let option = verb.options.first(where: { $0.name == name }) else { return UsageError(reason, verb: verb) }
        var error = UsageError.invalid(values[name] ?? "", for: option, reason: reason)
        error.verb = verb
        return error
    }
}
