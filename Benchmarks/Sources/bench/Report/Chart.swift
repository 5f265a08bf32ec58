import Foundation

/// One chart with logarithmic axes, as SVG.
struct Chart {
    struct Line {
        var name: String
        var colour: Int
        var points: [(x: Double, y: Double)]
        var labels: [String]
    }

    let lines: [Line]
    let unit: Figure.Unit
    let sizes: [Double]

    private static let (width, height) = (380.0, 230.0)
    private static let (left, right, top, bottom) = (58.0, 16.0, 12.0, 26.0)

    func svg(label: String) -> String {
        let axis = LogAxis(lines.flatMap { $0.points.map(\.y) })
        var text = """
            <svg viewBox="0 0 \(Int(Chart.width)) \(Int(Chart.height))" role="img" aria-label="\(label)">

            """
        for value in axis.ticks {
            let y = Chart.number(self.y(value, axis))
            text += "<path class=\"grid\" d=\"M\(Int(Chart.left)) \(y)H\(Int(Chart.width - Chart.right))\"/>"
            text += "<text x=\"\(Int(Chart.left - 7))\" y=\"\(y)\" dy=\"4\" text-anchor=\"end\">"
            text += "\(Format.figure(value, unit))</text>\n"
        }
        for size in shownSizes {
            let x = Chart.number(self.x(size))
            text += "<path class=\"grid\" d=\"M\(x) \(Int(Chart.top))V\(Int(Chart.height - Chart.bottom))\"/>"
            text +=
                "<text x=\"\(x)\" y=\"\(Int(Chart.height - 8))\" text-anchor=\"middle\">\(Chart.short(size))</text>\n"
        }
        // Draw this project's store last, on top of the others.
        for line in lines.reversed() { text += draw(line, axis) }
        return text + "</svg>"
    }

    private func draw(_ line: Line, _ axis: LogAxis) -> String {
        let places = line.points.map { (x: x($0.x), y: y($0.y, axis)) }
        let path = places.map { "\(Chart.number($0.x)) \(Chart.number($0.y))" }.joined(separator: "L")
        let marks = places.indices.map { index in
            Page.mark(
                line.colour, places[index].x, places[index].y,
                title: "\(line.name), \(Format.count(Int(line.points[index].x))) samples: \(line.labels[index])")
        }
        return "<g class=\"c\(line.colour)\"><path d=\"M\(path)\"/>\(marks.joined())</g>\n"
    }

    private var shownSizes: [Double] { sizes.sorted() }

    private func x(_ size: Double) -> Double {
        let (from, to) = (sizes.min() ?? 1, sizes.max() ?? 1)
        let room = Chart.width - Chart.left - Chart.right - 24
        return Chart.left + 12 + (to > from ? log(size / from) / log(to / from) * room : room / 2)
    }

    private func y(_ value: Double, _ axis: LogAxis) -> Double {
        let room = Chart.height - Chart.top - Chart.bottom
        return Chart.height - Chart.bottom - axis.place(value) * room
    }

    private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

    /// 10 k, 1 M.
    private static func short(_ size: Double) -> String {
        if size >= 1_000_000 { return "\(Format.short(size / 1_000_000)) M" }
        return size >= 1_000 ? "\(Format.short(size / 1_000)) k" : Format.short(size)
    }
}
