import HealthKVSync

// Rules for saves by a push, and for their outcomes.
extension PeerConformance {
    static let saving = [
        PeerRule("no-operations", "a push without operations has no outcomes", nothing),
        PeerRule("save-twice", "a push is complete when it returns, and repeating it duplicates nothing", saveTwice),
        PeerRule("outcomes", "each operation has an outcome, in the same order", outcomes),
        PeerRule("bad-operation", "an invalid operation does not stop later ones", badOperation),
        PeerRule("silence", "no reason contains a health value", silence),
        PeerRule("versions", "a greater version replaces the sample, a lower one is ignored", versions),
        PeerRule("types-apart", "one sync identifier with two types names two samples", typesApart),
        PeerRule("apps-apart", "another app's sync identifier is another sample", appsApart),
        PeerRule("limits", "a peer accepts as many operations at once as its limit says", limits),
        PeerRule("hints", "a sync identifier takes precedence over the peer's id", hints),
    ]

    private static func nothing(_ trial: PeerTrial) async throws {
        let outcomes = await trial.peer.push([])
        try demand(outcomes.isEmpty, "there are \(outcomes.count)")
    }

    private static func saveTwice(_ trial: PeerTrial) async throws {
        let sample = PeerTrial.weight(72, hour: 1)
        for time in ["once", "twice"] {
            try await trial.push(.save(sample))
            let count = try await trial.enumerateAll().count
            try demand(count == 1, "it was pushed \(time) and is there \(count) times")
        }
    }

    private static func outcomes(_ trial: PeerTrial) async throws {
        let known = PeerTrial.weight(72, hour: 0, version: 3)
        try await trial.push(.save(known))
        var older = known
        older.version = 2
        let fresh = (1...4).map { PeerTrial.weight(60, hour: $0) }
        let kinds = fresh.map { PushOperation.Kind.save($0) } + [.save(older)]
        let outcomes = try await trial.push(
            kinds.enumerated().map { PushOperation(sequence: UInt64(10 + $0), kind: $1) })
        let held = try await trial.enumerateAll()
        for (sample, outcome) in zip(fresh, outcomes) {
            guard case .done(let id) = outcome else { throw Violation("a new sample ended as \(outcome)") }
            guard let id else { continue }
            let named = held.first { $0.idAtPeer == id }?.sample.syncIdentifier
            try demand(named == sample.syncIdentifier, "the id of an outcome is that of another sample")
        }
    }

    /// Returns a sample that ends before it starts.
    private static func impossible() -> Sample {
        var sample = PeerTrial.weight(7_771.25, hour: 5)
        sample.end = PeerTrial.time(4)
        return sample
    }

    private static func badOperation(_ trial: PeerTrial) async throws {
        let samples = [PeerTrial.weight(72, hour: 1), impossible(), PeerTrial.weight(73, hour: 2)]
        let operations = samples.enumerated().map { PushOperation(sequence: UInt64($0), kind: .save($1)) }
        let outcomes = await trial.peer.push(operations)
        try demand(outcomes.count == 3, "3 operations have \(outcomes.count) outcomes")
        try demand(
            outcomes[0].isDone && outcomes[2].isDone, "the valid operations ended as \(outcomes[0]), \(outcomes[2])")
        let window = TimeRange(to: PeerTrial.time(3))
        let held = try await trial.enumerateAll(.bodyMass, window).count
        try demand(held == 2, "\(held) of 2 samples in order are there")
    }

    private static func silence(_ trial: PeerTrial) async throws {
        for outcome in await trial.peer.push([PushOperation(sequence: 1, kind: .save(impossible()))]) {
            let tells = outcome.reason?.contains("7771") ?? false || outcome.reason?.contains("7,771") ?? false
            try demand(!tells, "the reason of a refusal contains the value of the sample")
        }
    }

    private static func versions(_ trial: PeerTrial) async throws {
        let id = SampleID()
        try await trial.push(.save(PeerTrial.weight(72, hour: 1, version: 1, id: id)))
        try await trial.push(.save(PeerTrial.weight(70, hour: 1, version: 3, id: id)))
        try await trial.push(.save(PeerTrial.weight(71, hour: 1, version: 2, id: id)))
        let held = try await trial.enumerateAll().map(\.sample)
        try demand(held.map(\.version) == [3], "versions \(held.map(\.version)) are there")
        try demand(held[0].isSameValue(as: PeerTrial.weight(70, hour: 1)), "version 3 has another version's value")
    }

    private static func typesApart(_ trial: PeerTrial) async throws {
        guard trial.knowsSteps else { return }
        let weight = PeerTrial.weight(72, hour: 1)
        var steps = PeerTrial.steps(500, hour: 1)
        (steps.syncIdentifier, steps.version) = (weight.syncIdentifier, 2)
        try await trial.push(.save(weight))
        try await trial.push(.save(steps))
        for type in [SampleType.bodyMass, .stepCount] {
            let count = try await trial.enumerateAll(type).count
            try demand(count == 1, "\(count) samples of \(type) are there")
        }
        try await trial.push(PeerTrial.deletion(of: steps))
        let left = try await trial.enumerateAll().count
        try demand(left == 1, "deleting the one takes the other along")
    }

    private static func appsApart(_ trial: PeerTrial) async throws {
        let own = PeerTrial.weight(72, hour: 1, version: 2)
        var foreign = PeerTrial.foreign(73, hour: 2)
        (foreign.syncIdentifier, foreign.version) = (own.syncIdentifier, 1)
        try await trial.write(foreign)
        try await trial.push(.save(own))
        let count = try await trial.enumerateAll().count
        try demand(count == 2, "\(count) of 2 samples are there")
        try await trial.push(PeerTrial.deletion(of: own))
        let left = try await trial.enumerateAll().map(\.sample)
        try demand(left.count == 1 && left[0].isSameTimeAndType(as: foreign), "deleting ours does not leave theirs")
    }

    private static func limits(_ trial: PeerTrial) async throws {
        let limits = trial.peer.limits
        try demand(limits.operations ?? 1 > 0 && limits.page ?? 1 > 0, "a limit is nothing at all")
        let count = min(limits.operations ?? 200, 1_000)
        try await trial.push((0..<count).map { .save(PeerTrial.weight(72, hour: $0)) })
        let held = try await trial.enumerateAll().count
        try demand(held == count, "\(held) of \(count) samples are there")
    }

    private static func hints(_ trial: PeerTrial) async throws {
        let samples = (1...3).map { PeerTrial.weight(70 + Double($0), hour: $0) }
        try await trial.push(.save(samples[0]), .save(samples[1]), .save(samples[2]))
        let held = try await trial.enumerateAll()
        let wrong = held.first { $0.sample.isSameTimeAndType(as: samples[2]) }?.idAtPeer
        var edit = samples[0]
        edit.version = 2
        edit.modified = edit.modified.map { ChangeClock(time: $0.time + 5, replica: 1) }
        try await trial.push([
            PushOperation(sequence: 1, kind: .save(edit), idAtPeer: wrong),
            PushOperation(sequence: 2, kind: PeerTrial.deletion(of: samples[1]), idAtPeer: wrong),
        ])
        let left = try await trial.enumerateAll().map(\.sample)
        let expected = [samples[2], edit]
        let holds = left.count == 2 && zip(left, expected).allSatisfy { $0.isSameTimeAndType(as: $1) }
        try demand(holds, "an operation with a wrong id did something to another sample")
        try demand(left.map(\.version) == [1, 2], "versions \(left.map(\.version)) are there")
    }
}
