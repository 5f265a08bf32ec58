import HealthKVSync

// Rules for enumeration, digests, totals and wake-ups.
extension PeerConformance {
    static let rest = [
        PeerRule(
            "greeting", "a greeting returns the same each time, and a second reader is refused a taken name",
            greeting),
        PeerRule("enumeration", "an enumeration is complete, the latest first, within its window", enumeration),
        PeerRule("equal-starts", "samples that start at once are all enumerated, however long the pages", equalStarts),
        PeerRule("outlines", "an outline has the samples of the enumeration, in its order", outlines),
        PeerRule("digests", "equal content has equal digests", digests),
        PeerRule("types", "a peer that lists its types leaves none out", types),
        PeerRule("totals", "totals are of the requested days", totals),
        PeerRule("wake-ups", "a change causes a wake-up", wakeUp),
    ]

    private static func enumeration(_ trial: PeerTrial) async throws {
        for hour in 0..<10 { try await trial.write(PeerTrial.foreign(60, hour: hour)) }
        for limit in [1, 3, 50] {
            let starts = try await trial.enumerateAll(limit: limit).map(\.sample.start)
            try demand(Set(starts).count == 10, "pages of \(limit) leave \(10 - Set(starts).count) of 10 samples out")
            try demand(
                zip(starts, starts.dropFirst()).allSatisfy { $0 >= $1 }, "pages of \(limit) have another order")
        }
        let (from, to) = (PeerTrial.time(2), PeerTrial.time(5))
        let some = try await trial.enumerateAll(.bodyMass, TimeRange(from: from, to: to)).map(\.sample.start)
        try demand(some.allSatisfy { $0 >= from && $0 < to }, "a window returns samples that start outside of it")
        try demand(some.count == 3, "a window of 3 samples has \(some.count)")
    }

    private static func equalStarts(_ trial: PeerTrial) async throws {
        let samples = (0..<5).map { PeerTrial.weight(60 + Double($0), hour: 1) }
        try await trial.push(samples.map { PushOperation(sequence: UInt64($0.quantity.value), kind: .save($0)) })
        try await trial.push(.save(PeerTrial.weight(50, hour: 0)))
        for limit in [1, 2, 3, 50] {
            let ids = Set(try await trial.enumerateAll(limit: limit).map(\.idAtPeer))
            try demand(ids.count == 6, "pages of \(limit) have \(ids.count) of 6 samples")
        }
    }

    private static func outlines(_ trial: PeerTrial) async throws {
        for hour in 0..<6 { try await trial.write(PeerTrial.foreign(60, hour: hour)) }
        try await trial.push((6..<9).map { .save(PeerTrial.weight(72, hour: $0)) })
        let window = TimeRange(from: PeerTrial.time(1), to: PeerTrial.time(8))
        let whole = try await trial.enumerateAll(.bodyMass, window)
        for limit in [1, 3, 50] {
            let outlines = try await trial.outlineAll(.bodyMass, window, limit: limit)
            try demand(
                outlines.map(\.idAtPeer) == whole.map(\.idAtPeer), "pages of \(limit) have other samples")
            try demand(outlines.map(\.start) == whole.map(\.sample.start), "pages of \(limit) have other starts")
            try demand(outlines.map(\.isOwn) == whole.map(\.isOwn), "pages of \(limit) have other writers")
        }
    }

    private static func greeting(_ trial: PeerTrial) async throws {
        func greet(_ peer: any RecordPeer, _ number: UInt32) async throws -> PeerGreeting? {
            let sample = SampleID(high: 0, low: UInt64(number))
            return try await peer.greet(PeerGreeting(store: sample, replica: number, epoch: 1))
        }
        guard let records = trial.records, let first = try await greet(records, 1) else { return }
        try demand(first.oldest > 0 && first.oldest <= first.version, "it speaks no version of the protocol")
        let again = try await greet(records, 1)
        try demand(again == first, "the second answer is another one")
        guard let other = try await trial.reopen?() as? any RecordPeer else { return }
        // A restored store takes the name over, and its former holder does not get it back.
        _ = try await greet(other, 2)
        do {
            _ = try await greet(records, 1)
        } catch let error as PeerError {
            return try demand(error.code == .nameTaken, "it ends as \(error.code.rawValue)")
        }
        throw Violation("two readers have one name")
    }

    private static func digests(_ trial: PeerTrial) async throws {
        guard let records = trial.records, let empty = try await records.digest(of: .bodyMass, in: .all) else { return }
        try demand(empty == SyncDigest(), "the digest of an empty window is not empty")
        var last = empty
        for hour in 0..<3 {
            try await trial.push(.save(PeerTrial.weight(72, hour: hour)))
            var own = SyncDigest()
            for pulled in try await trial.enumerateAll() { own.add(pulled.sample) }
            let digest = try await records.digest(of: .bodyMass, in: .all)
            try demand(digest == own, "the digest differs from that of the samples")
            try demand(digest != last, "the digest does not change with the samples")
            last = own
        }
        let window = TimeRange(from: PeerTrial.time(1), to: PeerTrial.time(2))
        try demand(try await records.digest(of: .bodyMass, in: window)?.count == 1, "it knows no window")
    }

    private static func types(_ trial: PeerTrial) async throws {
        guard let records = trial.records else { return }
        try await trial.push(.save(PeerTrial.weight(72, hour: 1)))
        let types = try await records.types()
        try demand(types.isEmpty || types.contains(.bodyMass), "it has a body mass and does not tell")
    }

    private static func totals(_ trial: PeerTrial) async throws {
        guard let database = trial.database, database.traits.givesDailyTotals, trial.knowsSteps else { return }
        let days = ["2026-01-13", "2026-01-14", "2026-01-15"]
        let readings = try await database.dailyTotals(
            DailyTotalRequest(type: .stepCount, days: days, zone: "Asia/Kathmandu"))
        let named = readings.map(\.day)
        try demand(Set(named).isSubset(of: days), "a day was returned that was not requested")
        try demand(Set(named).count == named.count, "a day was returned twice")
        try demand(readings.allSatisfy { $0.quantity?.value ?? 0 == 0 }, "a day without data has a total")
    }

    private static func wakeUp(_ trial: PeerTrial) async throws {
        let called = try await withThrowingTaskGroup(of: Bool.self) { group in
            let calls = trial.peer.wakeUps(for: [trial.feed()])
            group.addTask {
                for await call in calls {
                    call.complete()
                    return true
                }
                // The stream ended: it has nothing to signal. The other task finds out whether that is right.
                try await Task.sleep(for: .seconds(60))
                return false
            }
            group.addTask {
                // The first changes may happen before the stream is read.
                for hour in 0..<200 {
                    try await trial.write(PeerTrial.foreign(72, hour: hour))
                    try await Task.sleep(for: .milliseconds(5))
                }
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
        try demand(called, "200 changes caused no wake-up")
    }
}
