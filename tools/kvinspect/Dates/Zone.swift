#if canImport(Foundation)
    // The small Foundation knows no time zone by name.
    import Foundation
#endif

/// A time zone by name, or a fixed distance from UTC.
struct Zone {
    /// The zone as calendars take it.
    let timeZone: TimeZone
    /// Seconds that local time is ahead of UTC, where they are always the same.
    private let fixed: Int?

    static let utc = Zone(timeZone: .gmt, fixed: 0)

    /// The zone of this machine, or of the variable TZ, which may also name a file of the time zone database.
    static let local = Zone(variable: ProcessInfo.processInfo.environment["TZ"]) ?? Zone(of: .current)

    /// The zone that a value of TZ means beside a plain name, which Foundation understands; `nil` for any other.
    private init?(variable: String?) {
        guard var name = variable else { return nil }
        if name.hasPrefix(":") { name.removeFirst() }
        if name.hasPrefix("/") {
            let file = URL(fileURLWithPath: name).resolvingSymlinksInPath().path
            guard let mark = file.range(of: "/zoneinfo/") else { return nil }
            name = String(file[mark.upperBound...])
        }
        guard let zone = TimeZone(identifier: name) else { return nil }
        self.init(of: zone)
    }

    /// A zone of the time zone database, `UTC`, `Z`, or a distance such as `+05:45`.
    init?(name: String) {
        if name == "UTC" || name == "Z" {
            self = .utc
        } else if let seconds = DateText.offset(name) {
            // Calendars take no zone that is farther from UTC than any place.
            guard let zone = TimeZone(secondsFromGMT: seconds) else { return nil }
            self.init(timeZone: zone, fixed: seconds)
        } else if let zone = TimeZone(identifier: name) {
            self.init(of: zone)
        } else {
            return nil
        }
    }

    private init(timeZone: TimeZone, fixed: Int?) { (self.timeZone, self.fixed) = (timeZone, fixed) }

    private init(of zone: TimeZone) {
        // Looking the zone up for every date costs more than printing the date does.
        let isUTC = ["GMT", "UTC", "Etc/UTC", "Etc/GMT"].contains(zone.identifier)
        self.init(timeZone: zone, fixed: isUTC ? 0 : nil)
    }

    /// Seconds that local time is ahead of UTC, at a time given in seconds since 1970.
    func offset(at seconds: Int) -> Int {
        fixed ?? timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
    }

    /// Converts a local date and time, counted as if it were UTC, to seconds since 1970.
    ///
    /// A time that occurs twice means the first occurrence. A time that the clocks skip counts with the offset before
    /// the change. So a day that begins with a skipped hour begins with its first instant.
    func seconds(ofLocal local: Int) -> Int {
        let before = local - offset(at: local - 86_400)
        let after = local - offset(at: local + 86_400)
        if before == after { return before }
        let earlier = min(before, after)
        let later = max(before, after)
        if earlier + offset(at: earlier) == local { return earlier }
        if later + offset(at: later) == local { return later }
        return before
    }
}
