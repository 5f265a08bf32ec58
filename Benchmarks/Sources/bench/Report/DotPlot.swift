import Foundation

/// One work at one size, as SVG: one line per contestant, with its figure as a mark on a logarithmic axis.
struct DotPlot {
    let lines: [Chart.Line]
    let unit: Figure.Unit

    private static let (width, left, right, row, top, bottom) = (380.0, 92.0, 68.0, 22.0, 4.0, 22.0)

    func svg(label: String) -> String {
        let height = DotPlot.top + DotPlot.row * Double(lines.count) + DotPlot.bottom
        let axis = LogAxis(lines.flatMap { $0.points.map(\.y) })
        var text = """
            <svg viewBox="0 0 \(Int(DotPlot.width)) \(Int(height))" role="img" aria-label="\(label)">

            """
        for tick in shown(axis.ticks) {
            let x = number(x(tick, axis))
            text += "<path class=\"grid\" d=\"M\(x) \(Int(DotPlot.top))V\(number(height - DotPlot.bottom))\"/>"
            text += "<text x=\"\(x)\" y=\"\(number(height - 7))\" text-anchor=\"middle\">"
            text += "\(Format.figure(tick, unit))</text>\n"
        }
        for (index, line) in lines.enumerated() {
            guard let point = line.points.last, let figure = line.labels.last else { continue }
            let (x, y) = (x(point.y, axis), DotPlot.top + DotPlot.row * (Double(index) + 0.5))
            text += "<text x=\"0\" y=\"\(number(y))\" dy=\"4\">\(line.name)</text>"
            text += "<g class=\"c\(line.colour)\">\(Page.mark(line.colour, x, y, title: "\(line.name): \(figure)"))</g>"
            text += "<text class=\"figure\" x=\"\(number(x + 9))\" y=\"\(number(y))\" dy=\"4\">\(figure)</text>\n"
        }
        return text + "</svg>"
    }

    /// As many axis marks as their labels have space for, powers of ten first.
    private func shown(_ ticks: [Double]) -> [Double] {
        let powers = ticks.filter { log10($0).rounded() == log10($0) }
        let marks = ticks.count > 4 && powers.count > 1 ? powers : ticks
        return marks.enumerated().filter { $0.offset % ((marks.count + 3) / 4) == 0 }.map(\.element)
    }

    private func x(_ value: Double, _ axis: LogAxis) -> Double {
        DotPlot.left + axis.place(value) * (DotPlot.width - DotPlot.left - DotPlot.right)
    }

    private func number(_ value: Double) -> String { String(format: "%.1f", value) }
}
