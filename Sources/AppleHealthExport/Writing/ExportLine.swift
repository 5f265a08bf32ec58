import HealthModel

/// Bytes of an export, in the making.
struct ExportLine {
    private(set) var bytes: [UInt8] = []
    /// How many characters were left out, since XML has no form for them.
    private(set) var charactersLost = 0
    /// Seconds east of universal time, for all dates.
    let offset: Int

    init(offset: Int) {
        // The form has no place for seconds.
        self.offset = offset / 60 * 60
    }

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    mutating func append(_ text: StaticString) { bytes += text.description.utf8 }

    /// Appends text that is XML already.
    mutating func append(raw text: String) { bytes += text.utf8 }

    mutating func indent(_ depth: Int) { for _ in 0..<depth { bytes.append(0x20) } }

    mutating func attribute(_ name: String, _ text: String) {
        bytes.append(0x20)
        bytes += name.utf8
        bytes.append(0x3D)
        bytes.append(0x22)
        appendEscaped(text)
        bytes.append(0x22)
    }

    mutating func attribute(_ name: String, _ number: Double) { attribute(name, ExportLine.decimal(number)) }

    mutating func attribute(_ name: String, _ time: Instant) { attribute(name, date(time)) }

    private mutating func appendEscaped(_ text: String) {
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x26: append("&amp;")
            case 0x3C: append("&lt;")
            case 0x3E: append("&gt;")
            case 0x22: append("&quot;")
            case 0x09: append("&#9;")
            case 0x0A: append("&#10;")
            case 0x0D: append("&#13;")
            case 0..<0x20, 0xFFFE, 0xFFFF: charactersLost += 1
            case ..<0x80: bytes.append(UInt8(scalar.value))
            default: bytes += UTF8.encode(scalar)!
            }
        }
    }

    /// The date as exports write it: whole seconds, with the offset.
    func date(_ time: Instant) -> String { day(of: time) + " " + clock(of: time) + " " + offsetText(separator: "") }

    /// The time as ISO 8601 has it, with the offset and as many decimals as there are.
    func timestamp(_ time: Instant) -> String {
        let rest = time.nanoseconds % Instant.nanosecondsPerSecond
        let nanoseconds = rest < 0 ? rest + Instant.nanosecondsPerSecond : rest
        var decimals = nanoseconds == 0 ? "" : "." + ExportLine.padded(Int(nanoseconds), 9)
        while decimals.hasSuffix("0") { decimals.removeLast() }
        let zone = offset == 0 ? "Z" : offsetText(separator: ":")
        return day(of: time) + "T" + clock(of: time) + decimals + zone
    }

    /// The local day of a time.
    func day(of time: Instant) -> String {
        let civil = CivilDate(daysSince1970: split(time).day)
        return ExportLine.padded(civil.year, 4) + "-" + ExportLine.padded(civil.month, 2) + "-"
            + ExportLine.padded(civil.day, 2)
    }

    /// The local time of day.
    private func clock(of time: Instant) -> String {
        let second = split(time).second
        return ExportLine.padded(second / 3_600, 2) + ":" + ExportLine.padded(second / 60 % 60, 2) + ":"
            + ExportLine.padded(second % 60, 2)
    }

    /// Returns the local day, and the second of it.
    private func split(_ time: Instant) -> (day: Int, second: Int) {
        let (seconds, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: Instant.nanosecondsPerSecond)
        let local = Int(rest < 0 ? seconds - 1 : seconds) + Int(Instant.secondsFrom1970To2001) + offset
        let day = local >= 0 ? local / 86_400 : (local - 86_399) / 86_400
        return (day, local - day * 86_400)
    }

    private func offsetText(separator: String) -> String {
        let minutes = abs(offset) / 60
        return (offset < 0 ? "-" : "+") + ExportLine.padded(minutes / 60, 2) + separator
            + ExportLine.padded(minutes % 60, 2)
    }

    private static func padded(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }

    /// The shortest number that reads back the same, without an exponent.
    static func decimal(_ number: Double) -> String {
        let text = "\(number)"
        if text.hasSuffix(".0") { return String(text.dropLast(2)) }
        guard let mark = text.firstIndex(of: "e"), let exponent = Int(text[text.index(after: mark)...]) else {
            return text
        }
        let isNegative = text.hasPrefix("-")
        let mantissa = text[..<mark].drop { $0 == "-" }
        let parts = mantissa.split(separator: ".")
        let digits = String(parts[0]) + (parts.count > 1 && parts[1] != "0" ? String(parts[1]) : "")
        let point = parts[0].utf8.count + exponent
        let body =
            if point <= 0 {
                "0." + String(repeating: "0", count: -point) + digits
            } else if point >= digits.utf8.count {
                digits + String(repeating: "0", count: point - digits.utf8.count)
            } else {
                String(digits.prefix(point)) + "." + String(digits.dropFirst(point))
            }
        return (isNegative ? "-" : "") + body
    }
}
