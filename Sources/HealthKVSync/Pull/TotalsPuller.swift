import HealthKV

/// Keeps a peer's own daily totals beside the samples (SEMANTICS C15).
struct TotalsPuller: SessionJob {
    let core: SessionCore

    /// The number of days in one request.
    private static let daysAtOnce = 366

    /// Reads again the totals of today, and of every day that a change touched.
    func pullTotals(_ type: SampleType) async throws {
        guard let database = peer.database, database.traits.givesDailyTotals,
            plan.types[type]?.keepsDailyTotals ?? false
        else { return }
        let (name, zone, now) = (name, options.zone, now)
        var days = try state()[type].staleDays
        let yesterday = LocalDays.names(from: now - .days(1), to: now, zone: zone, limit: 2)
        let held = try store.blockingRead { try $0.totals(of: type, peer: name) }
        // A total that was read before its day was over is incomplete.
        days.formUnion(held.filter { !$0.isComplete }.map(\.day))
        days.formUnion(yesterday.filter { day in !held.contains { $0.day == day && $0.isComplete } })
        let wanted = days.sorted()
        for from in stride(from: 0, to: wanted.count, by: Self.daysAtOnce) {
            let some = Array(wanted[from..<min(wanted.count, from + Self.daysAtOnce)])
            let readings = try await database.dailyTotals(DailyTotalRequest(type: type, days: some, zone: zone))
            try await update { txn, state in
                let known = Dictionary(
                    try txn.totals(of: type, peer: name).map { ($0.day, $0) }, uniquingKeysWith: { $1 })
                for reading in readings {
                    guard let unit = reading.quantity?.unit ?? type.canonicalUnit else { continue }
                    let total = DailyTotal(
                        peer: name, type: type, day: reading.day, zone: zone, value: reading.quantity?.value,
                        unit: unit,
                        isComplete: LocalDays.isOver(reading.day, zone: zone, at: now), time: now)
                    if known[reading.day]?.isSameReading(as: total) != true { try txn.setTotal(total) }
                }
                state[type].staleDays.subtract(some)
            }
        }
    }
}

extension SessionJob {
    var totals: TotalsPuller { TotalsPuller(core: core) }
}
