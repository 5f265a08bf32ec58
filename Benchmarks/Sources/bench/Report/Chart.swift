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
        let (low, high) = range
        var text = """
            <svg viewBox="0 0 \(Int(Chart.width)) \(Int(Chart.height))" role="img" aria-label="\(label)">

            """
        for value in ticks(low, high) {
            let y = Chart.number(self.y(value, low, high))
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
        // The store that this is about is drawn last, on top of the others.
        for line in lines.reversed() { text += draw(line, low, high) }
        return text + "</svg>"
    }

    private func draw(_ line: Line, _ low: Double, _ high: Double) -> String {
        let places = line.points.map { (x: x($0.x), y: y($0.y, low, high)) }
        let path = places.map { "\(Chart.number($0.x)) \(Chart.number($0.y))" }.joined(separator: "L")
        let marks = places.indices.map { index in
            Page.mark(
                line.colour, places[index].x, places[index].y,
                title: "\(line.name), \(Format.count(Int(line.points[index].x))) samples: \(line.labels[index])")
        }
        return "<g class=\"c\(line.colour)\"><path d=\"M\(path)\"/>\(marks.joined())</g>\n"
    }

    /// The values that the axis covers: those drawn and some space, at least a factor of ten.
    private var range: (Double, Double) {
        let values = lines.flatMap { $0.points.map(\.y) }
        var (low, high) = ((values.min() ?? 1) / 1.3, (values.max() ?? 1) * 1.3)
        if high / low < 10 {
            let middle = (high * low).squareRoot()
            (low, high) = (middle / 10.0.squareRoot(), middle * 10.0.squareRoot())
        }
        return (low, high)
    }

    /// Powers of ten; between them 2 and 5 where the axis is short, every second or third where it is long.
    private func ticks(_ low: Double, _ high: Double) -> [Double] {
        let powers = Int(floor(log10(low)))...Int(ceil(log10(high)))
        let span = log10(high / low)
        let step = span > 8 ? 3 : span > 5 ? 2 : 1
        let factors = span < 1.7 ? [1.0, 2, 5] : [1.0]
        return powers.filter { $0 % step == 0 }.flatMap { power in factors.map { $0 * pow(10, Double(power)) } }
            .filter { $0 >= low && $0 <= high }
    }

    private var shownSizes: [Double] { sizes.sorted() }

    private func x(_ size: Double) -> Double {
        let (from, to) = (sizes.min() ?? 1, sizes.max() ?? 1)
        let room = Chart.width - Chart.left - Chart.right - 24
        return Chart.left + 12 + (to > from ? log(size / from) / log(to / from) * room : room / 2)
    }

    private func y(_ value: Double, _ low: Double, _ high: Double) -> Double {
        let room = Chart.height - Chart.top - Chart.bottom
        return Chart.height - Chart.bottom - log(value / low) / log(high / low) * room
    }

    private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

    /// 10 k, 1 M.
    private static func short(_ size: Double) -> String {
        if size >= 1_000_000 { return "\(Format.short(size / 1_000_000)) M" }
        return size >= 1_000 ? "\(Format.short(size / 1_000)) k" : Format.short(size)
    }
}
