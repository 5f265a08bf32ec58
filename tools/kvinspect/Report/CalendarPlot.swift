/// Draws a calendar as SVG: a square for each cell, the darker the more samples begin in it.
struct CalendarPlot {
    private static let pitch = 10
    private static let side = 9
    private static let left = 34
    private static let top = 14

    let calendar: DensityCalendar
    /// Tells the elements of this plot from those of others.
    let id: String
    let title: String

    func write(to html: inout HTMLWriter) {
        let scale = LevelScale(calendar.cells)
        // The last label is wider than its column.
        let width = CalendarPlot.left + calendar.columns * CalendarPlot.pitch + 16
        let height = CalendarPlot.top + calendar.rows * CalendarPlot.pitch
        html.element(
            "svg",
            [
                "role": "img", "aria-labelledby": "\(id)-title", "aria-describedby": "\(id)-text", "width": "\(width)",
                "height": "\(height)", "viewBox": "0 0 \(width) \(height)",
            ]
        ) { html in
            html.element("title", ["id": "\(id)-title"], text: title)
            html.element("desc", ["id": "\(id)-text"], text: description)
            for label in calendar.columnLabels {
                let x = CalendarPlot.left + label.place * CalendarPlot.pitch
                html.element("text", ["x": "\(x)", "y": "10"], text: label.text)
            }
            for label in calendar.rowLabels {
                let y = CalendarPlot.top + label.place * CalendarPlot.pitch + CalendarPlot.side - 1
                html.element("text", ["x": "0", "y": "\(y)"], text: label.text)
            }
            for level in 0...LevelScale.top { write(level, scale, to: &html) }
        }
        html.line()
        writeLegend(scale, to: &html)
    }

    /// All squares of a level are one path of short lines, as thick as they are long.
    private func write(_ level: Int, _ scale: LevelScale, to html: inout HTMLWriter) {
        var path = ""
        for cell in calendar.cells where scale.level(of: cell.samples) == level {
            let x = CalendarPlot.left + cell.column * CalendarPlot.pitch
            // A line lies in the middle of its square.
            let y = CalendarPlot.top + cell.row * CalendarPlot.pitch + CalendarPlot.side / 2
            path += "M\(x) \(y).5h\(CalendarPlot.side)"
        }
        if !path.isEmpty { html.empty("path", ["class": "cells level\(level)", "d": path]) }
    }

    private func writeLegend(_ scale: LevelScale, to html: inout HTMLWriter) {
        html.element("p", ["class": "legend"]) { html in
            html.text("Samples a \(calendar.step.name):")
            for level in 0...LevelScale.top {
                guard let range = scale.range(of: level) else { continue }
                html.text(" ")
                html.element("span") { html in
                    html.element("svg", ["width": "9", "height": "9", "viewBox": "0 0 9 9", "aria-hidden": "true"]) {
                        $0.empty("path", ["class": "cells level\(level)", "d": "M0 4.5h9"])
                    }
                    let (low, high) = (ReportText.count(range.lowerBound), ReportText.count(range.upperBound - 1))
                    html.text(low == high ? " \(low)" : " \(low)–\(high)")
                }
            }
        }
        html.line()
    }

    private var description: String {
        let busiest = calendar.busiest
        return "Samples begin on \(ReportText.count(calendar.activeDays)) of "
            + "\(ReportText.count(calendar.allDays, "day")). "
            + "The fullest day is \(ReportText.day(busiest.day)) with \(ReportText.count(busiest.samples, "sample"))."
    }
}

/// Divides the counts of a calendar into levels with about as many cells each, so that differences show however much
/// there is of a type.
struct LevelScale {
    /// The level of the fullest cells; 0 is that of empty ones.
    static let top = 4

    /// The least count of each level, and one more than the greatest count.
    private let bounds: [Int]

    init(_ cells: [DensityCalendar.Cell]) {
        let counts = cells.map(\.samples).filter { $0 > 0 }.sorted()
        let quarters = (1..<LevelScale.top).map { counts.isEmpty ? 1 : counts[counts.count * $0 / LevelScale.top] }
        bounds = [0, counts.first ?? 1] + quarters + [(counts.last ?? 0) + 1]
    }

    func level(of count: Int) -> Int { bounds.prefix(LevelScale.top + 1).count { $0 <= count } - 1 }

    /// The counts of a level; `nil` where it has none.
    func range(of level: Int) -> Range<Int>? {
        if level == 0 { return 0..<1 }
        return bounds[level] < bounds[level + 1] ? bounds[level]..<bounds[level + 1] : nil
    }
}
