import HealthModel

// What a debugger shows. Nothing of it goes into an error or a log: it has health values.

extension Statistics: CustomStringConvertible {
    /// The bucket with its numbers.
    public var description: String {
        let unit = unit.map { " \($0)" } ?? ""
        var parts: [String] = []
        if let sum { parts.append("sum \(sum)\(unit)") }
        if let average, let minimum, let maximum { parts.append("average \(average)\(unit), \(minimum) to \(maximum)") }
        if !hasData { parts = ["no data"] }
        return "\(start) to \(end): " + (parts + ["\(count) samples"]).joined(separator: ", ")
    }
}

extension SampleQuery: CustomStringConvertible {
    /// The query as a sentence.
    public var description: String {
        var text = "\(type)"
        if range.from != .distantPast { text += " from \(range.from)" }
        if range.to != .distantFuture { text += " to \(range.to)" }
        if range != .all, rule != .overlap { text += " (\(rule.rawValue))" }
        if let source { text += ", source \(source.name.isEmpty ? source.bundle : source.name)" }
        if let filter { text += ", where \(filter)" }
        if sort != .time || order != .ascending { text += ", by \(sort.rawValue) \(order.rawValue)" }
        if let limit { text += ", \(limit) at most" }
        if includeShadowed { text += ", with shadowed ones" }
        return text
    }
}

extension Series: CustomStringConvertible {
    /// How many values there are, of when, and in which unit.
    public var description: String {
        guard let first = times.first, let last = times.last else { return "no values" }
        let bounds = "\(Instant(nanoseconds: first)) to \(Instant(nanoseconds: last))"
        return "\(count) values\(unit.map { " in \($0)" } ?? ""), \(bounds)"
    }
}

extension SampleStore: CustomStringConvertible {
    /// The folder of the store.
    public var description: String { "SampleStore(\(path))" }
}
