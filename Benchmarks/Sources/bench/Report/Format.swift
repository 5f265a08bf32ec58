import Foundation

/// Formats figures for people.
enum Format {
    /// Three significant digits.
    static func short(_ value: Double) -> String {
        let size = abs(value)
        if size >= 100 || value == value.rounded() { return String(format: "%.0f", value) }
        return String(format: size >= 10 ? "%.1f" : "%.2f", value)
    }

    static func figure(_ value: Double, _ unit: Figure.Unit) -> String {
        switch unit {
        case .perSecond, .writesPerSecond: rate(value)
        case .megabytesPerSecond: "\(short(value)) MB/s"
        case .bytes: "\(short(value)) B"
        case .microseconds: time(value)
        }
    }

    private static func rate(_ value: Double) -> String {
        if value < 1_000 { return "\(short(value)) /s" }
        if value < 1_000_000 { return "\(short(value / 1_000)) k/s" }
        return value < 1_000_000_000 ? "\(short(value / 1_000_000)) M/s" : "\(short(value / 1_000_000_000)) G/s"
    }

    static func bytes(_ value: Double) -> String {
        if value >= 1_000_000 { return "\(short(value / 1_000_000)) MB" }
        return value >= 10_000 ? "\(short(value / 1_000)) kB" : "\(short(value)) B"
    }

    static func time(_ microseconds: Double) -> String {
        microseconds >= 1_000 ? "\(short(microseconds / 1_000)) ms" : "\(short(microseconds)) us"
    }

    static func count(_ number: Int) -> String {
        var digits = String(number)[...]
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits = digits.dropLast(3)
        }
        return ([digits] + groups).joined(separator: ",")
    }
}
