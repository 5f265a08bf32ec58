import Histories

/// The one table of a run: a line a work, a column a contestant, ratios against this store, and the targets.
struct Table {
    private let settings: Settings
    private let figures: Figures
    private let works: [String]
    private let contestants: [String]

    init(_ measurements: [Figure], _ settings: Settings) {
        self.settings = settings
        figures = Figures(measurements)
        var works: [String] = []
        for measurement in measurements where !works.contains(measurement.work) {
            // The figures of single types are in the JSON file; the table has them together.
            let parts = measurement.work.split(separator: ".")
            if parts.count > 1, parts[0].hasPrefix("read_all") || parts[0] == "fold_all" { continue }
            works.append(measurement.work)
        }
        let order = Work.allCases.map(\.rawValue)
        func rank(_ work: String) -> Int { order.firstIndex(of: String(work.split(separator: ".")[0])) ?? order.count }
        self.works = works.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
            .map(\.element)
        let names = ContestantName.allCases.map(\.rawValue) + [TwoPuts.name]
        contestants = names.filter { name in measurements.contains { $0.contestant == name } }
    }

    var text: String {
        let samples = Format.count(settings.samples)
        var rows = [["work"] + contestants.map { $0 } + ["targets"]]
        for work in works { rows += lines(of: work) }
        let head =
            "\(samples) samples, profile \(settings.profile.rawValue), batches of \(Format.count(settings.batchRows)), "
            + "seed \(settings.seed). (1.0x) is the figure against HealthKV's: above 1 HealthKV is the better one.\n"
        return head + "\n" + aligned(rows) + footnote
    }

    private func lines(of work: String) -> [[String]] {
        let targets = hasTargets ? Target.targets(of: work, in: figures) : []
        let marks = targets.map { "\($0.isMet ? "met " : "MISS") \($0.text)" }
        var lines = [[work] + contestants.map { cell($0, work) } + [marks.first ?? ""]]
        let hasTails = contestants.contains { figures[$0, work]?.p99 != nil }
        if hasTails {
            lines.append(["  p99"] + contestants.map { tail($0, work, \.p99) } + [marks.dropFirst().first ?? ""])
            lines.append(["  worst"] + contestants.map { tail($0, work, \.worst) } + [marks.dropFirst(2).first ?? ""])
        } else {
            let hasMemory = contestants.contains { figures[$0, work]?.privateBytes != nil }
            if hasMemory || marks.count > 1 {
                lines.append(
                    [hasMemory ? "  private memory" : ""] + contestants.map { memory($0, work) } + [
                        marks.dropFirst().first ?? ""
                    ])
            }
        }
        return lines
    }

    private func cell(_ contestant: String, _ work: String) -> String {
        guard let figure = figures[contestant, work] else { return "" }
        var text = Format.figure(figure.value, figure.unit)
        if let low = figure.low, let high = figure.high, figure.value > 0, high > low {
            text += " ±\(Format.short((high - low) / 2 / figure.value * 100))%"
        }
        guard contestant != "HealthKV", let own = figures["HealthKV", work] else { return text }
        let ratio = figure.unit.moreIsBetter ? own.value / figure.value : figure.value / own.value
        return text + " (\(Format.short(ratio))x)"
    }

    private func tail(_ contestant: String, _ work: String, _ field: KeyPath<Figure, Double?>) -> String {
        figures[contestant, work]?[keyPath: field].map(Format.time) ?? ""
    }

    private func memory(_ contestant: String, _ work: String) -> String {
        figures[contestant, work]?.privateBytes.map { "\(Format.short(Double($0) / 1_000_000)) MB" } ?? ""
    }

    /// No target is taken from one profile and shown on another.
    private var hasTargets: Bool { settings.profile == .plain }

    private var footnote: String {
        var notes = "\nNo figure comes from maintained summaries."
        if hasTargets && settings.samples != 10_000_000 {
            notes += " Targets are for 10,000,000 samples; here there were \(Format.count(settings.samples))."
        }
        return notes
    }

    private func aligned(_ rows: [[String]]) -> String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        func line(_ row: [String]) -> String {
            var text = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(
                separator: "  ")
            while text.last == " " { text.removeLast() }
            return text + "\n"
        }
        let rule = String(repeating: "-", count: widths.reduce(0, +) + 2 * (widths.count - 1)) + "\n"
        return line(rows[0]) + rule + rows.dropFirst().map(line).joined()
    }
}
