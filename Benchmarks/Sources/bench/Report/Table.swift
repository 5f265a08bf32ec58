import Histories

/// The table of a run: one line per work, one column per contestant, ratios to this store, and the targets.
struct Table {
    private let settings: Settings
    private let figures: Figures
    private let works: [String]
    private let contestants: [String]
    private let missing: [String]
    private let flaws: [String]
    private let colours: Bool
    /// Those of profile `plain` in the same run.
    private let plain: Figures

    init(
        _ measurements: [Figure], _ settings: Settings, missing: [String] = [], flaws: [String] = [],
        colours: Bool = false, plain: [Figure] = []
    ) {
        self.settings = settings
        self.missing = missing
        self.flaws = flaws
        self.colours = colours
        self.plain = Figures(plain)
        figures = Figures(measurements)
        works = Table.works(measurements)
        let names = ContestantName.allCases.map(\.rawValue) + [TwoPuts.name] + ExportParser.allCases.map(\.rawValue)
        contestants = names.filter { name in measurements.contains { $0.contestant == name } }
    }

    /// The works in the order of `Work`. The table combines all types; the JSON file also has figures of single types.
    static func works(_ measurements: [Figure]) -> [String] {
        var works: [String] = []
        for measurement in measurements where !works.contains(measurement.work) {
            let parts = measurement.work.split(separator: ".")
            if parts.count > 1, parts[0].hasPrefix("read_all") || parts[0] == "fold_all" { continue }
            works.append(measurement.work)
        }
        let order = Work.allCases.map(\.rawValue)
        func rank(_ work: String) -> Int { order.firstIndex(of: String(work.split(separator: ".")[0])) ?? order.count }
        return works.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
            .map(\.element)
    }

    var text: String {
        let samples = Format.count(settings.samples)
        var rows = [["work"] + contestants + ["targets"]]
        for work in works { rows += lines(of: work) }
        let head =
            "\(samples) samples, profile \(settings.profile.rawValue), batches of \(Format.count(settings.batchRows)), "
            + "seed \(settings.seed). (1.0x) is the figure against HealthKV's: above 1 HealthKV is the better one.\n"
        return head + "\n" + aligned(rows) + footnote
    }

    private func lines(of work: String) -> [[String]] {
        let targets =
            switch settings.profile {
            case .plain: Target.targets(of: work, in: figures)
            case .life: Target.targets(ofLife: work, in: figures, plain: plain)
            default: [Target]()
            }
        var marks = targets.map { "\($0.isMet ? "met " : "MISS") \($0.text)" }[...]
        var lines = [[work] + contestants.map { cell($0, work) } + [marks.popFirst() ?? ""]]
        func add(_ name: String, _ text: (Figure) -> String?) {
            let cells = contestants.map { figures[$0, work].flatMap(text) ?? "" }
            if cells.contains(where: { !$0.isEmpty }) { lines.append(["  " + name] + cells + [marks.popFirst() ?? ""]) }
        }
        // Slow contestants repeat less, so show the number of runs if it differs.
        if Set(contestants.compactMap { figures[$0, work]?.runs }).count > 1 {
            add("runs") { $0.runs.map(Format.count) }
        }
        add("p99") { $0.p99.map(Format.time) }
        add("worst") { $0.worst.map(Format.time) }
        add("private memory") { $0.privateBytes.map { Format.bytes(Double($0)) } }
        add("peak memory") { $0.peakBytes.map { Format.bytes(Double($0)) } }
        add("written to disk") { $0.writtenBytes.map { "\(Format.bytes($0)) each" } }
        while let mark = marks.popFirst() { lines.append([""] + contestants.map { _ in "" } + [mark]) }
        return lines
    }

    /// A figure with its mark and the spread of its runs.
    static func brief(_ figure: Figure) -> String {
        let text = Format.figure(figure.value, figure.unit) + (figure.fromSummaries ? "*" : "")
        guard let low = figure.low, let high = figure.high, figure.value > 0, high > low else { return text }
        return text + " ±\(Format.short((high - low) / 2 / figure.value * 100))%"
    }

    private func cell(_ contestant: String, _ work: String) -> String {
        guard let figure = figures[contestant, work] else { return "" }
        let text = Table.brief(figure)
        guard contestant != "HealthKV", let own = figures["HealthKV", work] else { return text }
        let ratio = figure.unit.moreIsBetter ? own.value / figure.value : figure.value / own.value
        return text + " (\(Format.short(ratio))x)"
    }

    /// Targets of one profile do not apply to another.
    private var hasTargets: Bool { settings.profile == .plain }

    private var footnote: String {
        var notes = "\n* answered from rows or summaries that are kept for it."
        if !missing.isEmpty { notes += " Could not run here: \(missing.joined(separator: ", "))." }
        for flaw in flaws { notes += " Attention: \(flaw)." }
        if hasTargets && settings.samples != 10_000_000 {
            notes += " Targets are for 10,000,000 samples; here there were \(Format.count(settings.samples))."
        }
        return notes
    }

    private func aligned(_ rows: [[String]]) -> String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        func line(_ row: [String], isHead: Bool = false) -> String {
            let last = row.lastIndex { !$0.isEmpty } ?? 0
            let cells = row[...last].enumerated().map { column, text in
                let space = column == last ? "" : String(repeating: " ", count: widths[column] - text.count)
                return painted(text, column, isHead: isHead) + space
            }
            return cells.joined(separator: "  ") + "\n"
        }
        let rule = String(repeating: "-", count: widths.reduce(0, +) + 2 * (widths.count - 1)) + "\n"
        return line(rows[0], isHead: true) + rule + rows.dropFirst().map { line($0) }.joined()
    }

    /// Green means that this store is better or a target is met, red the opposite, grey an explanation.
    private func painted(_ text: String, _ column: Int, isHead: Bool) -> String {
        guard colours, !text.isEmpty else { return text }
        func paint(_ code: String) -> String { "\u{1B}[\(code)m\(text)\u{1B}[0m" }
        if isHead { return paint("1") }
        if column == 0 { return text.hasPrefix("  ") ? paint("2") : paint("1") }
        if text.hasPrefix("met ") || text.hasPrefix("MISS") { return paint(text.hasPrefix("met ") ? "32" : "31") }
        guard text.hasSuffix("x)"), let open = text.lastIndex(of: "("),
            let ratio = Double(text[text.index(after: open)...].dropLast(2))
        else { return text }
        return paint(ratio >= 1 ? "32" : "31")
    }
}
