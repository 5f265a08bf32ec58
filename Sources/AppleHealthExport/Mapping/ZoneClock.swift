#if canImport(FoundationEssentials)
    import FoundationEssentials
    // Brings the time zones; without it only GMT is known.
    import FoundationInternationalization
#else
    import Foundation
#endif

/// Converts times on the clocks of one zone to instants.
///
/// A zone takes a tenth of a microsecond to say its offset, and several offsets show whether the clocks change on a
/// day. Most days have one offset, and rows of a file are usually in order, so the clock remembers days.
struct ZoneClock: Sendable {
    /// Why a local time is no instant.
    enum Problem: Error, Equatable {
        /// The clocks were set back and showed the time twice.
        case ambiguous
        /// The clocks were set forward over the time.
        case nonexistent

        /// The problem in words.
        var words: String {
            switch self {
            case .ambiguous: "the clocks showed this time twice, and no offset says which is meant"
            case .nonexistent: "the clocks skipped this time"
            }
        }
    }

    private let zone: TimeZone
    /// The offsets of days on which the clocks do not change.
    private var plainDays: [Int: Int] = [:]
    private var lastDay = Int.min
    private var lastOffset = 0

    private static let rememberedDays = 40_000

    init(_ zone: TimeZone) { self.zone = zone }

    /// Returns seconds since 1970 in UTC of a local time, which is counted as if it were UTC.
    mutating func instant(ofLocal seconds: Int) throws(Problem) -> Int {
        let day = seconds.flooredQuotient(by: WrittenTime.secondsPerDay)
        if day == lastDay { return seconds - lastOffset }
        if let offset = plainOffset(of: day) {
            (lastDay, lastOffset) = (day, offset)
            return seconds - offset
        }
        let instants = instants(ofLocal: seconds)
        guard let instant = instants.first else { throw .nonexistent }
        guard instants.count == 1 else { throw .ambiguous }
        return instant
    }

    /// Returns the first instant of a local day, in seconds since 1970; where the clocks skip midnight, the instant of
    /// the change.
    mutating func start(ofDay day: Int) throws(Problem) -> Int {
        let local = day * WrittenTime.secondsPerDay
        if let offset = plainOffset(of: day) { return local - offset }
        if let first = instants(ofLocal: local).min() { return first }
        // The change is after `low` and not after `high`.
        var (low, high) = (local - WrittenTime.secondsPerDay, local + WrittenTime.secondsPerDay)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if middle + offset(at: middle) < local { low = middle } else { high = middle }
        }
        guard high + offset(at: high) < local + WrittenTime.secondsPerDay else { throw .nonexistent }
        return high
    }

    /// Returns the number of the local day of an instant.
    func day(at seconds: Int) -> Int {
        (seconds + offset(at: seconds)).flooredQuotient(by: WrittenTime.secondsPerDay)
    }

    /// Returns the offset of a day on which, as on those beside it, the clocks do not change; else `nil`.
    private mutating func plainOffset(of day: Int) -> Int? {
        if let known = plainDays[day] { return known }
        let offset = offset(at: (day - 1) * WrittenTime.secondsPerDay)
        for next in day...day + 2 where self.offset(at: next * WrittenTime.secondsPerDay) != offset { return nil }
        if plainDays.count >= ZoneClock.rememberedDays { plainDays.removeAll(keepingCapacity: true) }
        plainDays[day] = offset
        return offset
    }

    /// Returns all instants at which the clocks showed a time.
    private func instants(ofLocal seconds: Int) -> [Int] {
        var found: [Int] = []
        // Offsets are below a day, so the offsets that may apply are among those of the days around.
        for distance in -1...1 {
            let instant = seconds - offset(at: seconds + distance * WrittenTime.secondsPerDay)
            if instant + offset(at: instant) == seconds, !found.contains(instant) { found.append(instant) }
        }
        return found
    }

    private func offset(at seconds: Int) -> Int {
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
    }
}

/// The zones that a map and its file name.
struct ZoneBook: Sendable {
    /// A zone of the book.
    enum Zone: Equatable, Sendable {
        /// A fixed offset in seconds.
        case offset(Int)
        /// The number of a clock.
        case clock(Int)
    }

    private var clocks: [ZoneClock] = []
    private var zonesByName: [String: Zone] = [:]

    /// More names than there are zones: a file can spell them in many ways.
    private static let namesLimit = 4_096
    static let offsetLimit = 18 * 3_600

    /// Returns the zone of a name or an offset; `nil` if there is no such zone.
    mutating func zone(named name: String) -> Zone? {
        if let known = zonesByName[name] { return known }
        var reader = TimeReader(Array(name.utf8), 0..<name.utf8.count)
        let zone: Zone
        if let offset = reader.offset(), reader.isAtEnd {
            zone = .offset(offset)
        } else if clocks.count < ZoneBook.namesLimit, let found = TimeZone(identifier: name) {
            zone = .clock(clocks.count)
            clocks.append(ZoneClock(found))
        } else {
            return nil
        }
        if zonesByName.count < ZoneBook.namesLimit { zonesByName[name] = zone }
        return zone
    }

    /// Returns seconds since 1970 in UTC of a local time.
    mutating func instant(ofLocal seconds: Int, in zone: Zone) throws(ZoneClock.Problem) -> Int {
        switch zone {
        case .offset(let offset): seconds - offset
        case .clock(let number): try clocks[number].instant(ofLocal: seconds)
        }
    }

    /// Returns the first instant of a local day.
    mutating func start(ofDay day: Int, in zone: Zone) throws(ZoneClock.Problem) -> Int {
        switch zone {
        case .offset(let offset): day * WrittenTime.secondsPerDay - offset
        case .clock(let number): try clocks[number].start(ofDay: day)
        }
    }

    /// Returns the number of the local day of an instant.
    func day(at seconds: Int, in zone: Zone) -> Int {
        switch zone {
        case .offset(let offset): (seconds + offset).flooredQuotient(by: WrittenTime.secondsPerDay)
        case .clock(let number): clocks[number].day(at: seconds)
        }
    }

    /// Returns the name of a fixed offset as Foundation writes it, such as `GMT+0200`; `nil` if it has seconds.
    static func name(ofOffset offset: Int) -> String? {
        guard offset % 60 == 0 else { return nil }
        if offset == 0 { return "GMT" }
        let minutes = abs(offset) / 60
        let digits = String(10_000 + minutes / 60 * 100 + minutes % 60).dropFirst()
        return "GMT" + (offset < 0 ? "-" : "+") + digits
    }
}
