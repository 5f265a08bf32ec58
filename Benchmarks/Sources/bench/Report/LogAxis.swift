import Foundation

/// A logarithmic axis: its range of values, and its marks.
struct LogAxis {
    let low: Double
    let high: Double

    /// Covers the values with a margin, at least a factor of ten.
    init(_ values: [Double]) {
        var (low, high) = ((values.min() ?? 1) / 1.3, (values.max() ?? 1) * 1.3)
        if high / low < 10 {
            let middle = (high * low).squareRoot()
            (low, high) = (middle / 10.0.squareRoot(), middle * 10.0.squareRoot())
        }
        (self.low, self.high) = (low, high)
    }

    /// The position of a value: 0 at the low end, 1 at the high end.
    func place(_ value: Double) -> Double { log(value / low) / log(high / low) }

    /// Powers of ten; on a short axis also 2 and 5 between them, on a long one only every second or third.
    var ticks: [Double] {
        let powers = Int(floor(log10(low)))...Int(ceil(log10(high)))
        let span = log10(high / low)
        let step = span > 8 ? 3 : span > 5 ? 2 : 1
        let factors = span < 1.7 ? [1.0, 2, 5] : [1.0]
        return powers.filter { $0 % step == 0 }.flatMap { power in factors.map { $0 * pow(10, Double(power)) } }
            .filter { $0 >= low && $0 <= high }
    }
}
