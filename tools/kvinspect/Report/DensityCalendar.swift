import HealthKV

/// The samples of one type by day over its whole life, or by week, month or year where that is long: a grid of counts
/// whose size has a bound.
struct DensityCalendar {
    /// What one cell stands for.
    enum Step: CaseIterable {
        case day, week, month, year

        var name: String {
            switch self {
            case .day: "day"
            case .week: "week"
            case .month: "month"
            case .year: "year"
            }
        }

        /// The greatest number of years of which a grid still has a handy size.
        fileprivate var years: Int {
            switch self {
            case .day: 2
            case .week: 12
            case .month: 60
            case .year: .max
            }
        }
    }

    /// A year as one line of a table.
    struct Year {
        let year: Int
        var samples: Int
        var days: Int
    }

    struct Cell: Equatable {
        let column: Int
        let row: Int
        var samples: Int
    }

    /// A text at the border of the grid.
    struct Label: Equatable {
        let place: Int
        let text: String
    }

    let step: Step
    /// Every cell from the first day to the last, in the order of time, empty ones too.
    private(set) var cells: [Cell] = []
    private(set) var years: [Year] = []
    private(set) var columnLabels: [Label] = []
    private(set) var rowLabels: [Label] = []
    let columns: Int
    let rows: Int
    /// The number of days on which samples begin, and of all days from the first to the last.
    let activeDays: Int
    let allDays: Int
    /// The day with the most samples.
    let busiest: DayCount

    /// Creates the grid of some days in order; `nil` where there are none.
    init?(_ days: [DayCount]) {
        guard let first = days.first?.day, let last = days.last?.day else { return nil }
        let (from, to) = (CivilDate(daysSince1970: first), CivilDate(daysSince1970: last))
        let step: Step
        if last - first < 2 * 366 {
            step = .day
        } else {
            step = Step.allCases.first { $0 != .day && to.year - from.year < $0.years } ?? .year
        }
        self.step = step
        activeDays = days.count
        allDays = last - first + 1
        busiest = days.reduce(days[0]) { $1.samples > $0.samples ? $1 : $0 }
        let grid = Grid(step: step, first: first)
        (columns, rows) = grid.size(to: last)
        years = DensityCalendar.years(days)
        cells = grid.cells(to: last)
        var numbers: [Int: Int] = [:]
        for (index, cell) in cells.enumerated() { numbers[cell.column * grid.rowLimit + cell.row] = index }
        for day in days {
            let place = grid.place(of: day.day)
            if let index = numbers[place.column * grid.rowLimit + place.row] { cells[index].samples += day.samples }
        }
        (columnLabels, rowLabels) = grid.labels(first: from, last: to, columns: columns)
    }

    private static func years(_ days: [DayCount]) -> [Year] {
        var years: [Year] = []
        for day in days {
            let year = CivilDate(daysSince1970: day.day).year
            if years.last?.year != year { years.append(Year(year: year, samples: 0, days: 0)) }
            years[years.count - 1].samples += day.samples
            years[years.count - 1].days += 1
        }
        return years
    }
}

/// Where days lie in a calendar of one step.
private struct Grid {
    let step: DensityCalendar.Step
    let first: Int

    /// More rows than any grid has.
    var rowLimit: Int { 64 }

    /// Days: a column for each week from Monday on. Weeks: a row for each year, its weeks counted from its first day;
    /// the last one has eight days or nine. Months: a column for each year. Years: a column for each decade.
    func place(of day: Int) -> (column: Int, row: Int) {
        switch step {
        case .day: return ((day - monday) / 7, (day - monday) % 7)
        case .week:
            let year = CivilDate(daysSince1970: day).year
            return (min((day - Grid.newYear(year)) / 7, 51), year - firstYear)
        case .month:
            let date = CivilDate(daysSince1970: day)
            return (date.year - firstYear, date.month - 1)
        case .year:
            let year = CivilDate(daysSince1970: day).year
            return ((year - decade) / 10, (year - decade) % 10)
        }
    }

    func size(to last: Int) -> (columns: Int, rows: Int) {
        let end = place(of: last)
        switch step {
        case .day: return (end.column + 1, 7)
        case .week: return (52, end.row + 1)
        case .month: return (end.column + 1, 12)
        case .year: return (end.column + 1, 10)
        }
    }

    /// The cells of all days up to the last one.
    func cells(to last: Int) -> [DensityCalendar.Cell] {
        var cells: [DensityCalendar.Cell] = []
        for day in first...last {
            let place = place(of: day)
            if let cell = cells.last, cell.column == place.column, cell.row == place.row { continue }
            cells.append(DensityCalendar.Cell(column: place.column, row: place.row, samples: 0))
        }
        return cells
    }

    func labels(
        first from: CivilDate, last to: CivilDate, columns: Int
    ) -> (columns: [DensityCalendar.Label], rows: [DensityCalendar.Label]) {
        typealias Label = DensityCalendar.Label
        switch step {
        case .day:
            let rows = [Label(place: 0, text: "Mon"), Label(place: 3, text: "Thu"), Label(place: 6, text: "Sun")]
            return (monthLabels(columns), rows)
        case .week:
            let starts = (1...12).map { month in
                Label(
                    place: (CivilDate(2001, month).daysSince1970 - Grid.newYear(2001)) / 7,
                    text: Grid.months[month - 1])
            }
            return (starts, (from.year...to.year).map { Label(place: $0 - firstYear, text: String($0)) })
        case .month:
            let years = (from.year...to.year).map { Label(place: $0 - firstYear, text: String($0)) }
            return (Grid.spaced(years), [0, 3, 6, 9].map { Label(place: $0, text: Grid.months[$0]) })
        case .year:
            let decades = stride(from: decade, through: to.year, by: 10).map {
                Label(place: ($0 - decade) / 10, text: String($0))
            }
            return (Grid.spaced(decades), [0, 3, 6, 9].map { Label(place: $0, text: "…\($0)") })
        }
    }

    /// Leaves out labels that have no room.
    private static func spaced(_ labels: [DensityCalendar.Label]) -> [DensityCalendar.Label] {
        labels.reduce(into: []) { kept, label in
            if kept.last.map({ label.place - $0.place >= 4 }) ?? true { kept.append(label) }
        }
    }

    /// The year of the first day, and a label for each month that begins after it. January has the year for its name.
    private func monthLabels(_ columns: Int) -> [DensityCalendar.Label] {
        let begin = CivilDate(daysSince1970: first)
        var labels = [DensityCalendar.Label(place: 0, text: String(begin.year))]
        var (year, month) = (begin.year, begin.month)
        while true {
            (year, month) = month == 12 ? (year + 1, 1) : (year, month + 1)
            let column = place(of: CivilDate(year, month).daysSince1970).column
            if column >= columns { return Grid.spaced(labels) }
            labels.append(
                DensityCalendar.Label(place: column, text: month == 1 ? String(year) : Grid.months[month - 1]))
        }
    }

    private var monday: Int {
        // The first day of 1970 was a Thursday.
        let weekday = (first + 3) % 7
        return first - (weekday < 0 ? weekday + 7 : weekday)
    }

    private var firstYear: Int { CivilDate(daysSince1970: first).year }
    private var decade: Int { firstYear / 10 * 10 }

    private static func newYear(_ year: Int) -> Int { CivilDate(year, 1).daysSince1970 }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}

extension CivilDate {
    /// The first day of a month.
    fileprivate init(_ year: Int, _ month: Int) {
        self.init(daysSince1970: 0)
        (self.year, self.month, day) = (year, month, 1)
    }
}
