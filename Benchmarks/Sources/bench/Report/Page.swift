import Foundation
import Histories

/// A page with charts of each work's cost and its growth with the history: self-contained, for light and dark mode.
struct Page {
    private let figures: [Figure]
    private let seed: UInt64

    init(_ figures: [Figure], seed: UInt64) {
        self.figures = figures
        self.seed = seed
    }

    var text: String {
        let profiles = History.Profile.allCases.filter { profile in
            figures.contains { $0.profile == profile.rawValue }
        }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>What each work costs</title>
            <style>\(Page.style)</style>
            </head>
            <body>
            <h1>What each work costs</h1>
            <p>All axes are logarithmic. Where there are several sizes, a flat line is a cost that does not grow. Times are
            medians. Seed \(seed).</p>
            <ul class="legend">\(legend)</ul>
            \(profiles.map(section).joined(separator: "\n"))
            </body>
            </html>

            """
    }

    /// The charts of one profile.
    private func section(_ profile: History.Profile) -> String {
        let own = figures.filter { $0.profile == profile.rawValue }
        let sizes = Set(own.map(\.samples)).sorted()
        return """
            <h2>Profile \(profile.rawValue), \(sizes.map(Format.count).joined(separator: ", ")) samples</h2>
            <main>
            \(Table.works(own).map { figure($0, own, sizes) }.joined(separator: "\n"))
            </main>
            """
    }

    /// The contestants that have figures, each with the class of its colour.
    private var contestants: [(name: String, colour: Int)] {
        let names = ContestantName.allCases.map(\.rawValue) + [TwoPuts.name] + ExportParser.allCases.map(\.rawValue)
        return names.enumerated().filter { entry in figures.contains { $0.contestant == entry.element } }
            .map { (name: $0.element, colour: $0.offset) }
    }

    private var legend: String {
        contestants.map { name, colour in
            "<li class=\"c\(colour)\"><svg width=\"26\" height=\"12\" viewBox=\"0 0 26 12\"><path d=\"M1 6H25\"/>"
                + Page.mark(colour, 13, 6) + "</svg>\(name)</li>"
        }.joined()
    }

    private func figure(_ work: String, _ figures: [Figure], _ sizes: [Int]) -> String {
        let own = figures.filter { $0.work == work && $0.value > 0 }
        guard let unit = own.first?.unit else { return "" }
        let better = unit.moreIsBetter ? "more is better" : "less is better"
        let lines = contestants.compactMap { name, colour -> Chart.Line? in
            let points = own.filter { $0.contestant == name }.sorted { $0.samples < $1.samples }
            guard !points.isEmpty else { return nil }
            return Chart.Line(
                name: name, colour: colour, points: points.map { (Double($0.samples), $0.value) },
                labels: points.map { Format.figure($0.value, unit) })
        }
        let drawing =
            sizes.count == 1
            ? DotPlot(lines: lines, unit: unit).svg(label: work)
            : Chart(lines: lines, unit: unit, sizes: sizes.map(Double.init)).svg(label: work)
        return """
            <figure>
            <figcaption><b>\(work)</b> <span>\(unit == .microseconds ? "time" : unit.rawValue), \(better)</span></figcaption>
            \(drawing)
            </figure>
            """
    }

    /// A shape for each contestant, so that contestants differ by more than colour.
    static func mark(_ colour: Int, _ x: Double, _ y: Double, title: String = "") -> String {
        func n(_ value: Double) -> String { String(format: "%.1f", value) }
        let inside = title.isEmpty ? "/>" : "><title>\(title)</title></"
        func shape(_ name: String, _ attributes: String) -> String {
            "<\(name) \(attributes)" + (title.isEmpty ? "/>" : inside + "\(name)>")
        }
        switch colour % 4 {
        case 0: return shape("circle", "cx=\"\(n(x))\" cy=\"\(n(y))\" r=\"4\"")
        case 1: return shape("rect", "x=\"\(n(x - 3.5))\" y=\"\(n(y - 3.5))\" width=\"7\" height=\"7\"")
        case 2:
            return shape(
                "polygon", "points=\"\(n(x)),\(n(y - 4.5)) \(n(x + 4.5)),\(n(y + 3.5)) \(n(x - 4.5)),\(n(y + 3.5))\"")
        default:
            return shape(
                "polygon",
                "points=\"\(n(x)),\(n(y - 5)) \(n(x + 5)),\(n(y)) \(n(x)),\(n(y + 5)) \(n(x - 5)),\(n(y))\"")
        }
    }

    private static let style = """
        :root { color-scheme: light dark; --text: #1d2228; --faint: #5d6670; --grid: #e3e6ea; --back: #ffffff; --card: #f8f9fa }
        @media (prefers-color-scheme: dark) {
          :root { --text: #e8eaed; --faint: #9aa4af; --grid: #343a41; --back: #15181c; --card: #1c2025 }
        }
        body { margin: 0 auto; max-width: 1240px; padding: 24px 20px 60px; background: var(--back); color: var(--text);
          font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
        h1 { font-size: 24px; margin: 0 0 4px }
        h2 { font-size: 18px; margin: 26px 0 10px }
        p { color: var(--faint); margin: 0 0 14px; max-width: 75ch }
        .legend { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: 4px 20px; list-style: none;
          margin: 0 0 16px; padding: 10px 0; background: var(--back); border-bottom: 1px solid var(--grid) }
        .legend li { display: flex; align-items: center; gap: 7px; white-space: nowrap }
        main { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(360px, 100%), 1fr)); gap: 18px }
        figure { margin: 0; padding: 12px 14px 8px; background: var(--card); border: 1px solid var(--grid); border-radius: 8px }
        figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 10px }
        figcaption b { font-weight: 600; overflow-wrap: anywhere }
        figcaption span { color: var(--faint); font-size: 13px }
        figure svg { display: block; width: 100%; height: auto }
        svg text { fill: var(--faint); font-size: 11.5px }
        svg .figure { fill: var(--text) }
        svg path { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round }
        svg .grid { stroke: var(--grid); stroke-width: 1 }
        svg circle, svg rect, svg polygon { fill: currentColor; stroke: var(--card); stroke-width: 1 }
        .c0 { color: #c8321e } .c0 path { stroke-width: 3 } .c1 { color: #1f6fc4 } .c2 { color: #2b8a3e } .c3 { color: #7a9a00 }
        .c4 { color: #8a4fc0 } .c5 { color: #c27a00 } .c6 { color: #6b7580 } .c6 path { stroke-dasharray: 5 4 }
        .c7 { color: #00858f } .c8 { color: #b03a78 } .c9 { color: #7a5a3a } .c10 { color: #4a5fd0 }
        @media (prefers-color-scheme: dark) {
          .c0 { color: #ff7a66 } .c1 { color: #6cb0ff } .c2 { color: #62d17a } .c3 { color: #c2dd4c } .c4 { color: #c79bf2 }
          .c5 { color: #ffb84d } .c6 { color: #a3adb8 } .c7 { color: #4fd3dd }
          .c8 { color: #f08cc0 } .c9 { color: #d0a880 } .c10 { color: #98a8ff }
        }
        """
}
