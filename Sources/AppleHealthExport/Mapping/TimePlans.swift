import HealthModel

/// A zone with the name under which a sample records it.
struct NamedZone: Sendable {
    let zone: ZoneBook.Zone
    let name: String?
}

/// How to get the zone of a row.
struct ZonePlan: Sendable {
    /// The zone of all rows, or of rows whose column has none.
    var constant: NamedZone?
    var column: BoundColumn?
    var unit: ZoneColumnRule.Unit?
    private var cache = ColumnCache<NamedZone>()

    init(constant: NamedZone?, column: BoundColumn? = nil, unit: ZoneColumnRule.Unit? = nil) {
        self.constant = constant
        self.column = column
        self.unit = unit
    }

    mutating func zone(in row: RowFields, _ zones: inout ZoneBook) throws(RowDefect) -> NamedZone? {
        guard let column, let range = row.range(column.index) else { return constant }
        let unit = unit
        return try cache.value(of: row.bytes, range) { (text: String) throws(RowDefect) in
            guard let zone = ZonePlan.zone(text, unit: unit, &zones) else { throw column.defect("is not a time zone") }
            return zone
        }
    }

    private static func zone(_ text: String, unit: ZoneColumnRule.Unit?, _ zones: inout ZoneBook) -> NamedZone? {
        guard let unit, let number = Int(text) else { return named(text, &zones) }
        let perSecond = unit == .milliseconds ? 1_000 : 1
        let (product, isBeyond) = number.multipliedReportingOverflow(by: unit == .minutes ? 60 : 1)
        guard !isBeyond, product % perSecond == 0, (product / perSecond).magnitude <= ZoneBook.offsetLimit else {
            return nil
        }
        let offset = product / perSecond
        return NamedZone(zone: .offset(offset), name: ZoneBook.name(ofOffset: offset))
    }

    /// Returns the zone of a name or an offset in words.
    static func named(_ text: String, _ zones: inout ZoneBook) -> NamedZone? {
        switch zones.zone(named: text) {
        case .offset(let offset): NamedZone(zone: .offset(offset), name: ZoneBook.name(ofOffset: offset))
        case .clock(let number): NamedZone(zone: .clock(number), name: text)
        case nil: nil
        }
    }
}

/// How to get a time of a row.
struct TimePlan: Sendable {
    let column: BoundColumn
    let formats: [TimeFormat]
    /// The zone of this column alone.
    var ownZone: ZonePlan?

    /// Returns the instant of a row; `nil` if it has none.
    ///
    /// - Parameter zone: the zone of the row.
    mutating func instant(
        in row: RowFields, zone: NamedZone?, _ zones: inout ZoneBook
    ) throws(RowDefect) -> Instant? {
        guard let range = row.range(column.index) else { return nil }
        var written: WrittenTime?
        for format in formats {
            written = format.read(row.bytes, range)
            if written != nil { break }
        }
        guard let written else { throw column.defect("is not a time of the map's format") }
        do {
            switch written {
            case .unknownEnd: return .distantFuture
            case .instant(let seconds, let nanoseconds): return try instant(seconds, nanoseconds)
            case .local(let seconds, let nanoseconds):
                // Zones are not asked about times that no sample can have.
                _ = try instant(seconds, nanoseconds)
                let zone = try usedZone(in: row, zone, &zones)
                return try instant(try zones.instant(ofLocal: seconds, in: zone), nanoseconds)
            case .day(let day):
                _ = try instant(day * WrittenTime.secondsPerDay, 0)
                let zone = try usedZone(in: row, zone, &zones)
                return try instant(try zones.start(ofDay: day, in: zone), 0)
            }
        } catch let defect as RowDefect {
            throw defect
        } catch let problem as ZoneClock.Problem {
            throw column.defect(problem.words)
        } catch {
            throw column.defect("is not a time")
        }
    }

    private mutating func usedZone(
        in row: RowFields, _ zone: NamedZone?, _ zones: inout ZoneBook
    ) throws(RowDefect) -> ZoneBook.Zone {
        let used = ownZone == nil ? zone : try ownZone?.zone(in: row, &zones)
        guard let used else { throw column.defect("has no offset, and the row no zone") }
        return used.zone
    }

    private func instant(_ seconds: Int, _ nanoseconds: Int) throws(RowDefect) -> Instant {
        guard let instant = Instant(secondsSince1970: seconds, nanoseconds: nanoseconds) else {
            throw column.defect("lies outside 1710 to 2290")
        }
        return instant
    }
}

extension Instant {
    /// Creates an instant from seconds since 1970, or returns `nil` outside the years that samples may have.
    init?(secondsSince1970 seconds: Int, nanoseconds: Int) {
        let perSecond = Instant.nanosecondsPerSecond
        let (since, isBeyond) = Int64(seconds).subtractingReportingOverflow(Instant.secondsFrom1970To2001)
        guard !isBeyond, since >= Instant.earliest.nanoseconds / perSecond,
            since < Instant.latest.nanoseconds / perSecond
        else { return nil }
        self.init(nanoseconds: since * perSecond + Int64(nanoseconds))
    }

    /// Whole seconds since 1970, rounded down.
    var secondsSince1970: Int {
        Int(nanoseconds).flooredQuotient(by: Int(Instant.nanosecondsPerSecond)) + Int(Instant.secondsFrom1970To2001)
    }
}

/// How to get the end of a sample.
enum EndPlan: Sendable {
    case time(TimePlan)
    /// The same number of nanoseconds for all rows.
    case length(Int64)
    case localDay
    /// A column, and the seconds of its unit.
    case column(BoundColumn, seconds: Double)

    /// Returns nanoseconds of a duration; `nil` below zero and beyond all samples.
    static func nanoseconds(_ seconds: Double) -> Int64? {
        let nanoseconds = (seconds * 1e9).rounded()
        return nanoseconds >= 0 && nanoseconds < 0x1p62 ? Int64(nanoseconds) : nil
    }
}
