/// Shows how far long work is: a bar after one second, or events from the beginning on.
final class Progress {
    private static let interval = Duration.milliseconds(250)

    private let console: Console
    private let mode: ProgressMode
    private let verb: String
    private let unit: String
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var next: ContinuousClock.Instant

    /// How much is done, in units.
    private(set) var done = 0
    var total: Int?

    init(_ arguments: ParsedArguments, _ console: Console, unit: String, total: Int? = nil) {
        self.console = console
        self.unit = unit
        self.total = total
        verb = arguments.verb.name
        let mode = arguments.progress
        self.mode = mode == .auto ? (console.showsBars ? .bar : .none) : mode
        start = clock.now
        next = start + .seconds(1)
        if self.mode == .json { report("start") }
    }

    /// Counts `count` units more; also the place where Ctrl-C is noticed.
    func advance(by count: Int = 1) throws { try advance(to: done + count) }

    func advance(to count: Int) throws {
        try Interruption.check()
        done = count
        if mode == .none || clock.now < next { return }
        next = clock.now + Progress.interval
        if mode == .json { report("progress") } else { console.showBar(bar) }
    }

    /// The work is complete, at `count` units where that was not told before.
    func finish(at count: Int? = nil) {
        done = count ?? done
        if mode == .json { report("done") }
        console.clearBar()
    }

    private var seconds: Double {
        let parts = (clock.now - start).components
        return Double(parts.seconds) + Double(parts.attoseconds / 1_000_000_000_000_000) / 1000
    }

    private func report(_ event: String) {
        var writer = JSONWriter()
        writer.value(
            .object([
                .init("event", .string(event)), .init("verb", .string(verb)), .init("done", .count(done)),
                .init("total", .optional(total)), .init("unit", .string(unit)), .init("seconds", .double(seconds)),
            ]))
        console.say(String(decoding: writer.bytes, as: UTF8.self))
    }

    private var bar: String {
        let rate = seconds > 0 ? Int(Double(done) / seconds) : 0
        guard let total, total > 0 else {
            return CellText.cut("\(verb): \(done) \(unit), \(rate) a second", to: console.barWidth)
        }
        let share = min(Double(done) / Double(total), 1)
        var behind = " \(Int(share * 100)) %"
        if unit == "bytes" {
            behind += " \(ByteSize.text(done)) of \(ByteSize.text(total))"
        } else if unit != "%" {
            behind += " \(done)/\(total) \(unit)"
        }
        behind += ", \(Progress.text(secondsLeft: seconds * (1 - share) / max(share, 0.000_001)))"
        let width = max(10, min(40, console.barWidth - verb.count - 3 - behind.count))
        let filled = Int(share * Double(width))
        let line = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        return CellText.cut("\(verb) [\(line)]\(behind)", to: console.barWidth)
    }

    /// How long the rest takes if it goes on as fast as until now.
    static func text(secondsLeft seconds: Double) -> String {
        guard seconds < 360_000 else { return "days left" }
        let left = Int(seconds.rounded(.up))
        if left < 60 { return "\(left) s left" }
        return left < 3600 ? "\(left / 60) min \(left % 60) s left" : "\(left / 3600) h \(left / 60 % 60) min left"
    }
}
