import Foundation
import Testing

@testable import HealthKV

@Suite struct DailyTotalTests {
    private func total(_ value: Double?, _ time: Int, isComplete: Bool = false) -> DailyTotal {
        DailyTotal(
            peer: "health", type: .stepCount, day: "2026-01-02", zone: "GMT", value: value, unit: .count,
            isComplete: isComplete, time: .day(5, time))
    }

    @Test("C15: a newer reading replaces, except an incomplete over a complete one, or none over some")
    func replacing() throws {
        try withStore { store in
            let readings = [
                (total(nil, 1), true), (total(100, 2), true), (total(nil, 3), false), (total(90, 1), false),
                (total(120, 4, isComplete: true), true), (total(130, 5), false),
                (total(140, 6, isComplete: true), true),
            ]
            for (reading, isKept) in readings {
                let kept = try store.write { try $0.setTotal(reading) }
                #expect(kept == isKept)
            }
            let totals = try store.read { try $0.totals(of: .stepCount, peer: "health") }
            let others = try store.read { try $0.totals(of: .stepCount, peer: "other") }
            #expect(totals.map(\.value) == [140] && others.isEmpty)
        }
    }

    @Test("Totals of days on which no sample can lie, of unknown zones and of nobody are refused")
    func refused() throws {
        try withStore { store in
            @Sendable func reading(_ day: String, _ zone: String = "GMT", _ peer: PeerID = "health") -> DailyTotal {
                DailyTotal(
                    peer: peer, type: .stepCount, day: day, zone: zone, value: 1, unit: .count, isComplete: true,
                    time: .day(5))
            }
            for day in ["0001-01-01", "1707-12-31", "1709-12-30", "2290-01-02", "2294-01-01", "9999-12-31"] {
                expectError(.invalidSample) { try store.write { _ = try $0.setTotal(reading(day)) } }
            }
            for wrong in [
                reading("2026-02-30"), reading("2026-02-03", "Mars/Olympus"), reading("2026-02-03", ""),
                reading("2026-02-03", "GMT", ""),
                reading("2026-02-03", "GMT", PeerID(String(repeating: "x", count: 70_000))),
            ] {
                expectError(.invalidSample) { try store.write { _ = try $0.setTotal(wrong) } }
            }
            for day in ["1709-12-31", "2290-01-01"] { try store.write { _ = try $0.setTotal(reading(day)) } }
            let compared = try store.read { try $0.compareTotals(of: .stepCount, peer: "health") }
            #expect(compared.map(\.own) == [nil, nil] && compared.map(\.difference) == [nil, nil])
        }
    }

    @Test("C16: a day without samples is told apart from one without steps")
    func coverage() throws {
        try withStore { store in
            let reading = total(100, 0, isComplete: true)
            try store.write { _ = try $0.setTotal(reading) }
            func own() throws -> [Double?] {
                try store.read { try $0.compareTotals(of: .stepCount, peer: "health").map(\.own) }
            }
            #expect(try own() == [nil])
            try store.save(Sample(.stepCount, 0, .count, from: .day(1, 0), to: .day(1, 60)))
            #expect(try own() == [0])
        }
    }

    @Test("The difference to the samples is readable, and totals go with their peer")
    func comparing() throws {
        try withStore { store in
            // 2026-01-02 is the second day of the tests' year.
            try store.save(Sample(.stepCount, 90, .count, from: .day(1, 0), to: .day(1, 60)))
            try store.save(Sample(.stepCount, 10, .count, from: .day(1, 86_370), to: .day(2, 30)))
            let reading = total(100, 0, isComplete: true)
            try store.write { _ = try $0.setTotal(reading) }
            let compared = try store.read { try $0.compareTotals(of: .stepCount, peer: "health") }
            #expect(compared.map(\.own) == [95] && compared.map(\.difference) == [5])
            try store.write { try $0.removePeer("health") }
            let left = try store.read { try $0.totals(of: .stepCount, peer: "health") }
            #expect(left.isEmpty)
        }
    }

    @Test("A sample that the peer does not hold adds nothing where a better source covers its time")
    func covered() throws {
        try withStore { store in
            let watch = Source(bundle: "watch", name: "Watch")
            let own = Sample(.stepCount, 900, .count, from: .day(1, 3_600), to: .day(1, 7_200))
            try store.save(own)
            try store.save(
                Sample(
                    .stepCount, 1_000, .count, from: .day(1, 3_600), to: .day(1, 7_200), source: watch,
                    origin: .imported))
            try store.save(Sample(.stepCount, 30, .count, from: .day(0, 86_370), to: .day(1, 30)))
            let reading = total(1_100, 0, isComplete: true)
            try store.write { txn in
                _ = try txn.setTotal(reading)
                try txn.setPriority([RankedSource(watch.identity)], of: .stepCount)
            }
            #expect(try authoritative(store).sum == 1_115)
        }
    }

    private func authoritative(_ store: SampleStore) throws -> Statistics {
        try store.read { txn in
            try txn.statistics(
                of: .stepCount, from: .day(1), to: .day(2), options: CumulativeOptions(sources: .authoritative))
        }
    }

    @Test("C32: A total that is not finite in the unit of its type is refused")
    func infinite() throws {
        try withStore { store in
            for (value, unit) in [(1e308, HealthUnit.kilometer), (-1e308, .kilometer), (.infinity, .meter)] {
                expectError(.invalidSample) {
                    try store.write { txn in
                        try txn.setTotal(
                            DailyTotal(
                                peer: "health", type: .distanceWalkingRunning, day: "2026-01-02", zone: "GMT",
                                value: value, unit: unit, isComplete: true, time: .day(5)))
                    }
                }
            }
        }
    }

    @Test(
        "C32: A total that an older release let in is neither served nor compared, and a check names it",
        arguments: [(Double.nan, HealthUnit.meter), (.infinity, .meter), (1e308, .kilometer)])
    func older(value: Double, unit: HealthUnit) throws {
        try withStore { store in
            let type = SampleType.distanceWalkingRunning
            let good = DailyTotal(
                peer: "health", type: type, day: "2026-01-02", zone: "GMT", value: 5, unit: .meter, isComplete: true,
                time: .day(5))
            var bad = good
            (bad.value, bad.unit) = (value, unit)
            try store.save(Sample(type, 70, .meter, from: .day(1, 0), to: .day(1, 60)))
            try store.write { _ = try $0.setTotal(good) }
            let old = bad
            _ = try store.core.onWriter { [core = store.core] in
                try core.transact { txn in
                    let number = try NameTable.number(of: type, in: txn.snapshot)!
                    let day = try LocalDay.number(old.day, field: "day")
                    try PeerTables.put(
                        old, PeerTotalsTable.key(old.peer, number, day, txn.state.header.hashKey), in: &txn)
                }
            }
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = .gmt
            try store.read { txn in
                let served = try txn.statistics(
                    of: type, from: .day(1), to: .day(2), options: CumulativeOptions(sources: .authoritative))
                #expect(served.sum == 70 && served.totalsOf.isEmpty)
                let steps = try txn.dailySteps(
                    from: "2026-01-02", to: "2026-01-02", calendar: calendar, source: "s")
                #expect(steps.map(\.distanceMeters) == [70])
                let compared = try txn.compareTotals(of: type, peer: "health")
                #expect(compared.isEmpty)
            }
            let report = try store.check()
            #expect(report.findings.map(\.kind) == [.valueNotFinite] && report.findings[0].table == "totals")
            // A later reading replaces it.
            try store.write { _ = try $0.setTotal(good) }
            #expect(try store.check().isClean)
        }
    }
}
