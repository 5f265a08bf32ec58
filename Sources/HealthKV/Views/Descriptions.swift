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

extension Distribution: CustomStringConvertible {
    /// How many values there are, and where they lie. The values themselves may be millions.
    public var description: String {
        guard let minimum, let maximum, let median, let mean else { return "no values" }
        return
            "\(count) values\(unit.map { " in \($0)" } ?? ""): \(minimum) to \(maximum), median \(median), mean \(mean)"
    }
}

extension Trend: CustomStringConvertible {
    /// The slope and the middle of the line, and how well it fits.
    public var description: String {
        let unit = unit.map { " \($0)" } ?? ""
        return "\(perDay)\(unit) a day, \(centerValue)\(unit) at \(center), fit \(fit) of \(count) values"
    }
}

extension Streaks: CustomStringConvertible {
    /// The lengths of the rows, and how many buckets met the goal.
    public var description: String {
        "current \(current?.count ?? 0), longest \(longest?.count ?? 0), met \(met) of \(total)"
    }
}

extension TimeInBands: CustomStringConvertible {
    /// The borders of the bands, and the share of each in percent.
    public var description: String {
        let shares = bands.map { band in
            let borders =
                switch (band.lower, band.upper) {
                case (let lower?, let upper?): "\(lower) to \(upper)"
                case (let lower?, nil): "from \(lower)"
                case (nil, let upper?): "below \(upper)"
                case (nil, nil): "all"
                }
            return "\(borders): \(Int((band.share * 100).rounded())) %"
        }
        return shares.joined(separator: ", ") + (unit.map { " (\($0))" } ?? "")
    }
}

extension DailyTotal: CustomStringConvertible {
    /// Type, day, value and peer.
    public var description: String {
        let number = value.map { "\($0) \(unit)" } ?? "no value"
        return "\(type) \(day): \(number)\(isComplete ? "" : ", not complete"), \(peer)"
    }
}

extension DeletedSample: CustomStringConvertible {
    /// Type, id and version.
    public var description: String { "deleted \(type) \(id), version \(version)" }
}

extension TypeSummary: CustomStringConvertible {
    /// Type, number of samples, and from when to when they are.
    public var description: String {
        let times = if let first, let last { ", \(first) to \(last)" } else { "" }
        return "\(type): \(samples) samples\(times), \(sources.count) sources, \(bytes) bytes"
    }
}

extension SampleStore: CustomStringConvertible {
    /// The folder of the store.
    public var description: String { "SampleStore(\(path))" }
}
