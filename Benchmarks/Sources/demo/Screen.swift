import Foundation

/// Prints lines, in colour if the terminal supports it.
struct Screen {
    private let isTerminal: Bool
    private let hasColor: Bool
    private(set) var failures = 0

    init() {
        let environment = ProcessInfo.processInfo.environment
        isTerminal = isatty(STDOUT_FILENO) == 1
        hasColor = isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    enum Style: String {
        case bold = "1"
        case faint = "2"
        case red = "31"
        case green = "32"
        case blue = "34"
    }

    func styled(_ text: String, _ style: Style) -> String {
        hasColor ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    func title(_ text: String) { print("\n" + styled(text, .bold)) }
    func note(_ text: String) { print(styled(text, .faint)) }

    /// Prints a step: its name, its result, and whether the answer is the expected one.
    mutating func step(_ name: String, _ result: String, isRight: Bool = true) {
        if !isRight { failures += 1 }
        let mark = isRight ? styled("✓", .green) : styled("✗", .red)
        let padded = name + String(repeating: " ", count: max(1, 18 - name.count))
        print("  \(mark) \(padded)\(result)\(isRight ? "" : styled("  NOT as expected", .red))")
    }

    /// Shows the progress of a long step on a terminal; the next line replaces it.
    func progress(_ done: Int, of total: Int) {
        guard isTerminal, total > 0 else { return }
        let filled = 30 * done / total
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
        print("    \(styled(bar, .blue)) \(100 * done / total) %", terminator: done < total ? "\r" : "\r\u{1B}[K")
        fflush(nil)
    }
}

/// Formats figures for people.
enum Show {
    static func count(_ number: Int) -> String {
        var digits = String(number)[...]
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits = digits.dropLast(3)
        }
        return ([digits] + groups).joined(separator: ",")
    }

    static func time(_ seconds: Double) -> String {
        if seconds >= 1 { return String(format: "%.1f s", seconds) }
        if seconds >= 0.001 { return String(format: "%.1f ms", seconds * 1e3) }
        return String(format: "%.1f us", seconds * 1e6)
    }

    static func rate(_ count: Int, _ seconds: Double) -> String {
        let perSecond = Double(count) / max(seconds, 1e-9)
        return perSecond >= 1e6
            ? String(format: "%.1f million a second", perSecond / 1e6)
            : String(format: "%.0f thousand a second", perSecond / 1e3)
    }

    static func bytes(_ count: Int) -> String {
        count >= 1_000_000
            ? String(format: "%.1f MB", Double(count) / 1e6) : String(format: "%.0f kB", Double(count) / 1e3)
    }

    static func date(_ seconds: Double) -> String {
        Date(timeIntervalSinceReferenceDate: seconds).formatted(.iso8601.year().month().day())
    }
}
