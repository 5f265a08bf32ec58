import HealthKV
import Testing

@testable import kvinspect

@Suite("Calendars of a report")
struct DensityCalendarTests {
    private func day(_ year: Int, _ month: Int, _ day: Int) throws -> Int {
        try #require(CivilDate(year: year, month: month, day: day)).daysSince1970
    }

    private func calendar(_ days: [(Int, Int)]) throws -> DensityCalendar {
        try #require(DensityCalendar(days.map { DayCount(day: $0.0, samples: $0.1) }))
    }

    @Test("A short life is shown by day, with weeks as columns that begin on Monday")
    func days() throws {
        // A Thursday and the Monday after it.
        let calendar = try calendar([(day(2024, 2, 29), 3), (day(2024, 3, 4), 5)])
        #expect(calendar.step == .day && calendar.columns == 2 && calendar.rows == 7 && calendar.cells.count == 5)
        #expect(calendar.cells.first == .init(column: 0, row: 3, samples: 3))
        #expect(calendar.cells.last == .init(column: 1, row: 0, samples: 5))
        #expect(calendar.activeDays == 2 && calendar.allDays == 5 && calendar.busiest.samples == 5)
        #expect(calendar.columnLabels.map(\.text) == ["2024"])
    }

    @Test("A longer life is shown by week, month and year, and the grid stays small", arguments: [1, 3, 13, 61, 280])
    func steps(years: Int) throws {
        for month in [1, 7, 12] {
            let calendar = try calendar([(day(1720, month, 31), 1), (day(1720 + years, 12, 31), 2)])
            #expect(calendar.step == [1: .day, 3: .week, 13: .month, 61: .year, 280: .year][years])
            #expect(calendar.columns * calendar.rows <= 800 && calendar.cells.count <= 800)
            #expect(calendar.cells.allSatisfy { $0.column < calendar.columns && $0.row < calendar.rows })
            #expect(calendar.cells.reduce(0) { $0 + $1.samples } == 3)
            #expect(calendar.cells.first?.samples == 1 && calendar.cells.last?.samples == 2)
            #expect(calendar.years.map(\.samples) == [1, 2])
            #expect(calendar.rowLabels.allSatisfy { $0.place < calendar.rows })
            #expect(calendar.columnLabels.allSatisfy { $0.place < calendar.columns })
        }
    }

    @Test("A day keeps its samples in every step, whatever day it is")
    func sums() throws {
        for (last, step) in [(600, DensityCalendar.Step.day), (4_000, .week), (20_000, .month), (90_000, .year)] {
            let days = stride(from: -10, through: last, by: 7).map { ($0, 1) }
            let calendar = try calendar(days)
            #expect(calendar.step == step && calendar.cells.reduce(0) { $0 + $1.samples } == days.count)
            #expect(calendar.years.reduce(0) { $0 + $1.samples } == days.count)
        }
    }

    @Test("Levels divide cells into quarters, and equal cells are of the highest level")
    func levels() {
        func scale(_ counts: [Int]) -> LevelScale {
            LevelScale(counts.map { DensityCalendar.Cell(column: 0, row: 0, samples: $0) })
        }
        let mixed = scale([0, 1, 2, 3, 4, 5, 6, 7, 8])
        #expect((0...8).map(mixed.level) == [0, 1, 1, 2, 2, 3, 3, 4, 4])
        #expect((0...4).map(mixed.range) == [0..<1, 1..<3, 3..<5, 5..<7, 7..<9])
        let equal = scale([9, 0, 9])
        #expect([0, 9].map(equal.level) == [0, 4])
        #expect((0...4).compactMap(equal.range) == [0..<1, 9..<10])
        #expect(scale([0]).level(of: 0) == 0)
    }
}
