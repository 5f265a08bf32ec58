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
        let stale = try state()[type].staleDays
        var days = stale
        let yesterday = LocalDays.names(from: now - .days(1), to: now, zone: zone, limit: 2)
        let held = try store.blockingRead { try $0.totals(of: type, peer: name) }
        // A total that was read before its day was over is incomplete, and so is one of a clock that was ahead, or of
        // another zone, where the last days were others.
        let complete = Set(
            held.filter { $0.isComplete && $0.time <= now && ($0.zone == zone || !yesterday.contains($0.day)) }
                .map(\.day))
        days.formUnion(held.map(\.day).filter { !complete.contains($0) })
        days.formUnion(yesterday.filter { !complete.contains($0) })
        let wanted = days.sorted()
        for from in stride(from: 0, to: wanted.count, by: Self.daysAtOnce) {
            let some = Array(wanted[from..<min(wanted.count, from + Self.daysAtOnce)])
            let readings = try await database.dailyTotals(DailyTotalRequest(type: type, days: some, zone: zone))
            try await update { txn, state in
                let isSending = try isSending(type, in: &txn)
                let known = Dictionary(
                    try txn.totals(of: type, peer: name).map { ($0.day, $0) }, uniquingKeysWith: { $1 })
                for reading in readings {
                    guard let unit = reading.quantity?.unit ?? type.canonicalUnit else { continue }
                    if reading.quantity == nil, stale.contains(reading.day), state[type].visibility == .shown,
                        try isEmpty(reading.day, type, in: &txn)
                    {
                        // The feed has told that the last sample of the day is gone.
                        try txn.removeTotal(of: type, peer: name, day: reading.day)
                        continue
                    }
                    let total = DailyTotal(
                        peer: name, type: type, day: reading.day, zone: zone, value: reading.quantity?.value,
                        unit: unit,
                        isComplete: LocalDays.isOver(reading.day, zone: zone, at: now)
                            && !(isSending && known[reading.day]?.isComplete == false), time: now)
                    if known[reading.day]?.isSameReading(as: total) != true { try txn.setTotal(total) }
                }
                state[type].staleDays.subtract(some)
            }
        }
    }

    /// Returns `true` if the peer is still to be sent changes of a type. A total that they made incomplete stays so: it
    /// does not count them yet. What may not be written is never counted.
    private func isSending(_ type: SampleType, in txn: inout WriteTransaction) throws -> Bool {
        try txn.pendingGroups(for: name).contains { group in
            (group.type ?? type) == type && group.state != .quarantined
                && group.reason != ParkReason.unauthorized.rawValue
        }
    }

    /// Returns `true` if no sample of a type is on a local day.
    private func isEmpty(_ day: String, _ type: SampleType, in txn: inout WriteTransaction) throws -> Bool {
        guard let range = LocalDays.range(of: day, zone: options.zone) else { return false }
        return try txn.count(SampleQuery(type, from: range.from, to: range.to, includeShadowed: true)) == 0
    }
}

extension SessionJob {
    var totals: TotalsPuller { TotalsPuller(core: core) }
}
