import HealthKV

/// Counts the samples of one type while they pass by, ordered by start. It keeps a number for each day, none for a
/// sample.
struct TypeTally {
    private(set) var span = TallySpan()
    /// Samples by the local hour at which they begin.
    private(set) var hours = [Int](repeating: 0, count: 24)
    /// The local days on which samples begin, in order.
    private(set) var days: [DayCount] = []
    private(set) var gaps = LongestGaps()

    private var clock: LocalClock

    init(_ zone: Zone) { clock = LocalClock(zone) }

    mutating func add(start: Instant, end: Instant) {
        span.add(start)
        gaps.add(start: start, end: end)
        let place = clock.place(of: start)
        hours[place.hour] += 1
        count(place.day)
    }

    /// Where clocks are set back at midnight, a day follows the one after it.
    private mutating func count(_ day: Int) {
        var place = days.count
        while place > 0, days[place - 1].day > day { place -= 1 }
        if place > 0, days[place - 1].day == day {
            days[place - 1].samples += 1
        } else {
            days.insert(DayCount(day: day, samples: 1), at: place)
        }
    }
}

/// How many samples begin on a day.
struct DayCount {
    /// Days since 1970.
    let day: Int
    var samples: Int
}

/// How many samples there are, and when the first and the last of them begin.
struct TallySpan {
    private(set) var samples = 0
    private(set) var first: Instant?
    private(set) var last: Instant?

    mutating func add(_ start: Instant) {
        samples += 1
        first = min(first ?? start, start)
        last = max(last ?? start, start)
    }

    mutating func add(_ other: TallySpan) {
        samples += other.samples
        first = [first, other.first].compactMap(\.self).min()
        last = [last, other.last].compactMap(\.self).max()
    }
}
