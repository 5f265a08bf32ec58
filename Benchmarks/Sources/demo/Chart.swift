/// A chart of columns in eighths of a character.
struct Chart {
    private let values: [Double?]
    private let height: Int

    /// - Parameter values: a column each; `nil` where there is nothing to show.
    init(_ values: [Double?], height: Int = 8) {
        self.values = values
        self.height = height
    }

    /// The lines from top to bottom, each with the scale's number where there is one.
    func lines(label: (Double) -> String) -> [(scale: String, bars: String)] {
        let known = values.compactMap { $0 }
        guard let least = known.min(), let most = known.max() else { return [] }
        // A column is never empty: the scale begins a little below the least value.
        let floor = least - max((most - least) * 0.1, 0.5)
        let step = (most - floor) / Double(height)
        return (0..<height).reversed().map { row in
            let bars = values.map { value in
                guard let value else { return " " }
                return Chart.block((value - floor) / step - Double(row))
            }
            let isLabelled = row % 2 == 1
            return (isLabelled ? label(floor + step * Double(row + 1)) : "", bars.joined())
        }
    }

    /// The part of a character that is filled from below.
    private static func block(_ share: Double) -> String {
        let eighths = Int((share * 8).rounded())
        if eighths <= 0 { return " " }
        return ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"][min(eighths, 8) - 1]
    }
}
