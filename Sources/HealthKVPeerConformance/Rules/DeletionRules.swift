import HealthKVSync

// Rules for deletions by a push.
extension PeerConformance {
    static let deleting = [
        PeerRule("delete-absent", "a deletion removes the sample, and deleting an absent sample succeeds", deleteTwice),
        PeerRule("groups", "a deletion names the group of the deleted sample, or none", groups),
        PeerRule("late-deletion", "a deletion of a lower version leaves the greater one alone", lateDeletion),
        PeerRule("born-again", "a deleted sample can be saved again at a greater version", bornAgain),
        PeerRule(
            "unnamed", "a sample without a sync identifier is replaced and deleted by its id", unnamed),
    ]

    private static func deleteTwice(_ trial: PeerTrial) async throws {
        let sample = PeerTrial.weight(72, hour: 1)
        try await trial.push(.save(sample), .save(PeerTrial.weight(80, hour: 2)))
        try await trial.push(PeerTrial.deletion(of: sample))
        let left = try await trial.enumerateAll().count
        try demand(left == 1, "\(left) of 1 samples are left")
        try await trial.push(PeerTrial.deletion(of: sample))
        try await trial.push(PeerTrial.deletion(of: PeerTrial.weight(60, hour: 9)))
        let after = try await trial.enumerateAll().count
        try demand(after == 1, "after deleting an absent sample there are \(after) of 1 samples")
    }

    private static func groups(_ trial: PeerTrial) async throws {
        var sample = PeerTrial.foreign(72, hour: 1)
        sample.group = "breakfast"
        try await trial.write(sample)
        let first = try await trial.pullAll()
        try await trial.delete(sample)
        let deletions = try await trial.pullAll(since: first.token).deletions
        try demand(deletions.count == 1, "\(deletions.count) deletions are reported")
        let known = trial.records != nil ? ["breakfast"] : [nil, "breakfast"]
        try demand(known.contains(deletions[0].group), "the group is another one, or lost")
    }

    private static func lateDeletion(_ trial: PeerTrial) async throws {
        let sample = PeerTrial.weight(72, hour: 1, version: 3)
        try await trial.push(.save(sample))
        var older = sample
        older.version = 2
        let outcome = try await trial.push(PeerTrial.deletion(of: older))[0]
        let left = try await trial.enumerateAll().count
        try demand(left == 1, "it is gone")
        try demand(outcome == .superseded, "it ends as \(outcome)")
    }

    private static func bornAgain(_ trial: PeerTrial) async throws {
        let id = SampleID()
        let sample = PeerTrial.weight(72, hour: 1, id: id)
        try await trial.push(.save(sample))
        try await trial.push(PeerTrial.deletion(of: sample))
        try await trial.push(.save(PeerTrial.weight(73, hour: 1, version: 2, id: id)))
        let held = try await trial.enumerateAll().map(\.sample.version)
        try demand(held == [2], "versions \(held) are there")
    }

    private static func unnamed(_ trial: PeerTrial) async throws {
        guard let writeOwn = trial.writeOwn else { return }
        var samples = [PeerTrial.weight(72, hour: 1), PeerTrial.weight(73, hour: 2)]
        for index in samples.indices {
            samples[index].syncIdentifier = nil
            try await writeOwn(samples[index])
        }
        let held = try await trial.pullAll().additions
        func id(_ sample: Sample) -> SampleID? { held.first { $0.sample.isSameTimeAndType(as: sample) }?.idAtPeer }
        try demand(held.count == 2 && held.allSatisfy(\.isOwn), "they are not there as our own")
        var edit = PeerTrial.weight(70, hour: 1, version: 2, id: samples[0].id)
        edit.modified = samples[0].modified
        let outcomes = await trial.peer.push([
            PushOperation(sequence: 1, kind: .save(edit), idAtPeer: id(samples[0]), replacesUnnamed: true),
            PushOperation(sequence: 2, kind: PeerTrial.deletion(of: samples[1]), idAtPeer: id(samples[1])),
        ])
        for outcome in outcomes { try demand(outcome.isDone, "it ends as \(outcome)") }
        let left = try await trial.enumerateAll().map(\.sample.version)
        try demand(left == [2], "versions \(left) are there")
    }
}
