/// A column chart with a resolution of an eighth of a character.
struct Chart {
    private let values: [Double?]
    private let height: Int

    /// - Parameter values: one per column; `nil` for an empty column.
    init(_ values: [Double?], height: Int = 8) {
        self.values = values
        self.height = height
    }

    /// The lines from top to bottom, some with a number of the scale.
    func lines(label: (Double) -> String) -> [(scale: String, bars: String)] {
        let known = values.compactMap { $0 }
        guard let least = known.min(), let most = known.max() else { return [] }
        // The scale starts a little below the least value, so that no column is empty.
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

    /// The block character with this fraction filled from below.
    private static func block(_ share: Double) -> String {
        let eighths = Int((share * 8).rounded())
        if eighths <= 0 { return " " }
        return ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"][min(eighths, 8) - 1]
    }
}
