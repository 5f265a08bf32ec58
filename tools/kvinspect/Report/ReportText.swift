import HealthKV

/// Numbers and times as the page shows them.
struct ReportText {
    let zone: Zone

    /// The name of the zone.
    var zoneName: String { zone.timeZone == .gmt ? "UTC" : zone.timeZone.identifier }

    /// What stands where there is no number.
    static let nothing = "–"

    /// A local date and time to the minute.
    func time(_ instant: Instant) -> String {
        String(DateText.text(instant, in: zone).prefix(16)).replacing("T", with: " ")
    }

    /// A local date.
    func day(_ instant: Instant) -> String { String(DateText.text(instant, in: zone).prefix(10)) }

    /// A date by the number of days since 1970.
    static func day(_ day: Int) -> String {
        let seconds = Int64(day) * 86_400 - Int64(Instant.secondsFrom1970To2001)
        return ReportText(zone: .utc).day(Instant(nanoseconds: seconds * Instant.nanosecondsPerSecond))
    }

    /// 1234567 as 1,234,567.
    static func count(_ number: Int) -> String {
        let digits = String(abs(number))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }

    /// "1 sample", "2 samples"
    static func count(_ number: Int, _ noun: String) -> String { "\(count(number)) \(noun)\(number == 1 ? "" : "s")" }

    /// Bytes as 4.4 MB.
    static func size(_ bytes: Int) -> String {
        guard bytes >= 1_000 else { return "\(bytes) B" }
        var size = Double(bytes) / 1_000
        for unit in ["kB", "MB", "GB"] {
            if size < 999.95 { return "\(decimal(size, 1)) \(unit)" }
            size /= 1_000
        }
        return "\(decimal(size, 1)) TB"
    }

    static func share(_ share: Double) -> String { "\(decimal(share * 100, 1)) %" }

    static func decimal(_ number: Double, _ places: Int) -> String {
        let factor = (0..<places).reduce(1) { product, _ in product * 10 }
        let scaled = Int((number * Double(factor)).rounded())
        let fraction = String(scaled % factor)
        return "\(count(scaled / factor)).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
    }

    /// The two greatest units of a length of time.
    static func duration(_ nanoseconds: Int64) -> String {
        let seconds = Int(nanoseconds / Instant.nanosecondsPerSecond)
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60)
        if days > 0 { return hours > 0 ? "\(count(days, "day")) \(hours) h" : count(days, "day") }
        if hours > 0 { return minutes > 0 ? "\(hours) h \(minutes) min" : "\(hours) h" }
        return minutes > 0 ? "\(minutes) min" : "\(seconds) s"
    }
}
