import Foundation
import HealthKV
import Histories

extension Demo {
    /// A day and a month in the middle of the history.
    mutating func showRanges() throws {
        let type = SampleType.stepCount
        let column = expected.columns[type]!
        for (name, from, days) in [("a day", 1_655, 1), ("a month", 2_038, 30)] {
            let start = History.start + Int64(from) * History.day
            let range = TimeRange(from: start, to: start + Int64(days) * History.day)
            let (seconds, samples) = try timed {
                try store.blockingRead { try $0.samples(of: type, from: range.from, to: range.to) }
            }
            let wanted = column.overlapping(range)
            let isRight =
                samples.map(\.id) == wanted.map { column.ids[$0] }
                && samples.map(\.quantity.value) == wanted.map { column.values[$0] }
            screen.step(
                name,
                "\(Show.count(samples.count)) step samples from \(Show.date(start.secondsSinceReference)), "
                    + Show.time(seconds), isRight: isRight)
        }
    }

    /// Reads whole histories as columns and compares every time and value.
    mutating func showColumns() throws {
        for type in expected.columns.keys.sorted() {
            let column = expected.columns[type]!
            let (seconds, series) = try timed { try store.blockingRead { try $0.series(type) } }
            screen.step(
                "all of \(Demo.name(of: type))",
                "\(Show.count(series.values.count)) times and values, \(Show.time(seconds)): "
                    + Show.rate(series.values.count, seconds),
                isRight: series.times == column.starts && series.values == column.values)
        }
        let (seconds, steps) = try timed {
            try store.blockingRead { txn in
                try txn.fold(.stepCount, into: 0.0) { sum, _, values in
                    for index in values.indices { sum += values[index] }
                }
            }
        }
        // Whole numbers below 2^53 add up without rounding, in any order.
        let wanted = expected.columns[.stepCount]!.values.reduce(0, +)
        screen.step(
            "sum of steps", "\(Show.count(Int(steps))) without a copy, \(Show.time(seconds))", isRight: steps == wanted)
    }

    /// Looks up samples by id, some of them unknown, in one read transaction.
    mutating func showLookups() throws {
        let picks = History(.plain, samples: options.samples).picks(1_000)
        let (seconds, found) = try timed {
            try store.blockingRead { txn in
                var found: [Sample?] = []
                for pick in picks {
                    found.append(try txn.sample(id: pick.id))
                    if try txn.sample(id: SampleID()) != nil { throw DemoFailure("a sample that nobody made") }
                }
                return found
            }
        }
        let isRight = zip(picks, found).allSatisfy { $0.contentBytes == $1?.contentBytes }
        screen.step(
            "look-ups by id",
            "\(Show.count(picks.count)) whole samples and as many unknown ids, \(Show.time(seconds / 2_000)) each",
            isRight: isRight)
    }

    /// Closes and reopens the store, and reads one type again.
    mutating func showReopening() throws {
        let type = SampleType.activeEnergyBurned
        try store.close()
        let (seconds, opened) = try timed { try SampleStore.open(at: folder) }
        store = opened
        let series = try store.blockingRead { try $0.series(type) }
        screen.step(
            "close and open", Show.time(seconds), isRight: series.values == expected.columns[type]!.values)
    }

    /// Runs every integrity check of the store.
    mutating func showCheck() throws {
        let (seconds, report) = try timed { try store.check() }
        screen.step(
            "check", "\(report.findings.count) findings in pages, checksums, indexes and counts, \(Show.time(seconds))",
            isRight: report.findings.isEmpty)
    }

    /// Shows the weights as a person would read them.
    mutating func showChart() throws {
        let weights = try store.blockingRead { try $0.series(.bodyMass) }
        var sums = Array(repeating: (sum: 0.0, count: 0), count: 60)
        for (time, value) in zip(weights.times, weights.values) {
            let column = Int((time - History.start.nanoseconds) / (History.day * Int64(History.days) / 60))
            guard sums.indices.contains(column) else { continue }
            sums[column].sum += value
            sums[column].count += 1
        }
        let means = sums.map { $0.count == 0 ? nil : $0.sum / Double($0.count) }
        for line in Chart(means).lines(label: { String(format: "%.1f kg", $0) }) {
            let scale = String(repeating: " ", count: max(0, 9 - line.scale.count)) + line.scale
            print("  \(screen.styled(scale, .faint)) \(screen.styled(line.bars, .blue))")
        }
        let years = (2015...2024).map { "\($0)  " }.joined()
        screen.note(String(repeating: " ", count: 12) + years)
    }

    private static func name(of type: SampleType) -> String {
        switch type {
        case .stepCount: "steps"
        case .distanceWalkingRunning: "distance"
        case .activeEnergyBurned: "energy"
        default: "weight"
        }
    }
}
