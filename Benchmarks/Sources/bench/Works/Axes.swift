import Foundation
import HealthKV
import Histories

/// The days of New York that a history covers, with their clock changes.
struct DayAxis: Sendable {
    /// The first instant of each day in nanoseconds, and the end of the last.
    let bounds: [Int64]
    var count: Int { bounds.count - 1 }
    let timeZone: TimeZone

    static let newYork = DayAxis(timeZone: TimeZone(identifier: "America/New_York")!)

    /// The days from the start day of histories to the second one after their end.
    init(timeZone: TimeZone) {
        self.timeZone = timeZone
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let seconds = TimeInterval(History.start.nanoseconds / Instant.nanosecondsPerSecond)
        var day = calendar.startOfDay(for: Date(timeIntervalSinceReferenceDate: seconds))
        var bounds: [Int64] = []
        for _ in 0...History.days + 3 {
            bounds.append(Int64(day.timeIntervalSinceReferenceDate) * Instant.nanosecondsPerSecond)
            // Noon of the next day is in that day, whatever clock change occurs.
            day = calendar.startOfDay(for: day.addingTimeInterval(36 * 3_600))
        }
        self.bounds = bounds
    }

    /// The number of the day of an instant: -1 before the first, `count` after the last.
    func day(of instant: Int64) -> Int {
        var (low, high) = (0, bounds.count)
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] <= instant { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }
}

/// The sum of each day.
struct DaySums: Equatable {
    var values: [Double]

    init(count: Int) { values = Array(repeating: 0, count: count) }
}

/// Adds samples to their days, for contestants that only return rows in the order of time.
struct DayAdder {
    private let days: DayAxis
    private var day = 0
    private(set) var sums: DaySums

    init(_ days: DayAxis) {
        self.days = days
        sums = DaySums(count: days.count)
    }

    @inline(__always)
    mutating func add(_ time: Int64, _ value: Double) {
        while day < days.count, days.bounds[day + 1] <= time { day += 1 }
        if day < days.count, days.bounds[day] <= time { sums.values[day] += value }
    }
}

/// The points of a chart of a whole history: each of whole hours, as the store with summaries draws them.
struct PointAxis {
    let from = History.start.nanoseconds
    let count = 1_000
    let width: Int64 = 88 * 3_600 * Instant.nanosecondsPerSecond
    var end: Int64 { from + width * Int64(count) }
}

/// Adds samples to their points, for contestants that only return rows.
struct PointAdder {
    private let axis: PointAxis
    private var points: [SeriesPoint]

    init(_ axis: PointAxis) {
        self.axis = axis
        points = Array(repeating: SeriesPoint(low: .infinity, high: -.infinity), count: axis.count)
    }

    @inline(__always)
    mutating func add(_ time: Int64, _ value: Double) {
        let place = Int((time - axis.from) / axis.width)
        guard time >= axis.from, place < points.count else { return }
        points[place].count += 1
        points[place].low = min(points[place].low, value)
        points[place].high = max(points[place].high, value)
        // Holds the sum until all samples are added.
        points[place].mean += value
    }

    var found: [SeriesPoint] {
        points.map { point in
            var point = point
            if point.count == 0 { return SeriesPoint() }
            point.mean /= Double(point.count)
            return point
        }
    }
}

/// One point of a chart: statistics of the samples that start in it.
struct SeriesPoint: Equatable {
    var count = 0
    var low = 0.0
    var high = 0.0
    var mean = 0.0
}
