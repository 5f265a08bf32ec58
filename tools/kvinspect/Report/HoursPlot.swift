/// Draws how many samples begin in each hour of the day as SVG bars.
struct HoursPlot {
    private static let pitch = 12
    private static let side = 10
    private static let height = 48
    private static let labels = 12

    let hours: [Int]
    let id: String
    let title: String

    func write(to html: inout HTMLWriter) {
        let (width, height) = (24 * HoursPlot.pitch, HoursPlot.height + HoursPlot.labels)
        html.element(
            "svg",
            [
                "role": "img", "aria-labelledby": "\(id)-title", "aria-describedby": "\(id)-text", "width": "\(width)",
                "height": "\(height)", "viewBox": "0 0 \(width) \(height)",
            ]
        ) { html in
            html.element("title", ["id": "\(id)-title"], text: title)
            html.element("desc", ["id": "\(id)-text"], text: description)
            html.empty("path", ["class": "axis", "d": "M0 \(HoursPlot.height).5h\(width)"])
            html.empty("path", ["class": "bars", "d": bars])
            for hour in stride(from: 0, to: 24, by: 6) {
                html.element(
                    "text", ["x": "\(hour * HoursPlot.pitch)", "y": "\(height - 1)"], text: HoursPlot.text(hour))
            }
        }
        html.line()
    }

    static func text(_ hour: Int) -> String { "\(hour < 10 ? "0" : "")\(hour):00" }

    private var bars: String {
        let most = max(1, hours.max() ?? 1)
        var path = ""
        for (hour, count) in hours.enumerated() where count > 0 {
            // An hour with any sample shows.
            let bar = max(1, Int((Double(count) / Double(most) * Double(HoursPlot.height)).rounded()))
            path += "M\(hour * HoursPlot.pitch + 1) \(HoursPlot.height)v-\(bar)h\(HoursPlot.side)v\(bar)z"
        }
        return path
    }

    private var description: String {
        let total = hours.reduce(0, +)
        guard total > 0, let most = hours.max(), let hour = hours.firstIndex(of: most) else { return "No samples." }
        return "Most samples begin in the hour from \(HoursPlot.text(hour)): \(ReportText.count(most)) of "
            + "\(ReportText.count(total))."
    }
}
