import HealthKVSync

// Rules for tokens. They are the engine's only place in a feed; the peer keeps no place for the engine.
extension PeerConformance {
    static let tokens = [
        PeerRule("bad-token", "an invalid token is refused as expired", badToken),
        PeerRule("same-token", "the same token returns the same changes again, as after a crash", sameToken),
        PeerRule("acknowledged", "acknowledging a token keeps all later changes", acknowledged),
        PeerRule(
            "older-token", "a token older than the acknowledged one returns all later changes, or is refused",
            olderToken),
        PeerRule("meanwhile", "changes made while a feed is first read are reported by its end", meanwhile),
        PeerRule("reopened", "a token stays valid for the peer that the next process creates", reopened),
        PeerRule("forgotten", "a sample that the peer holds is not reported as deleted", forgotten),
    ]

    private static func badToken(_ trial: PeerTrial) async throws {
        do {
            _ = try await trial.peer.pull(PullRequest(type: trial.feed(), token: [1, 2, 3]))
        } catch {
            return try demand(error.code == .tokenExpired, "it ends as \(error.code.rawValue)")
        }
        throw Violation("it is accepted")
    }

    private static func sameToken(_ trial: PeerTrial) async throws {
        for hour in 0..<3 { try await trial.write(PeerTrial.foreign(60, hour: hour)) }
        let start = try await trial.pullAll().token
        for hour in 3..<8 { try await trial.write(PeerTrial.foreign(60, hour: hour)) }
        let first = try await trial.pullAll(since: start, limit: 2).additions.map(\.idAtPeer)
        let again = try await trial.pullAll(since: start, limit: 2).additions.map(\.idAtPeer)
        try demand(first.count == 5, "\(first.count) of 5 samples come behind a token")
        try demand(first == again, "the second time \(again.count) come")
        let fromStart = try await trial.pullAll().additions.count
        try demand(fromStart == 8, "a new reader gets \(fromStart) of 8 samples")
    }

    private static func acknowledged(_ trial: PeerTrial) async throws {
        let samples = (0..<4).map { PeerTrial.foreign(60, hour: $0) }
        for sample in samples[..<2] { try await trial.write(sample) }
        let first = try await trial.pullAll()
        for sample in samples[2...] { try await trial.write(sample) }
        try await trial.delete(samples[0])
        if let token = first.token { try await trial.peer.acknowledge(token, of: trial.feed()) }
        let second = try await trial.pullAll(since: first.token)
        try demand(second.additions.count == 2, "\(second.additions.count) of 2 additions are left")
        try demand(second.deletions.count == 1, "the deletion is forgotten")
        let fromStart = try await trial.pullAll().additions.count
        try demand(fromStart == 3, "a new reader gets \(fromStart) of 3 samples")
    }

    private static func olderToken(_ trial: PeerTrial) async throws {
        let samples = (0..<4).map { PeerTrial.foreign(60, hour: $0) }
        for sample in samples[..<2] { try await trial.write(sample) }
        let first = try await trial.pullAll()
        if let token = first.token { try await trial.peer.acknowledge(token, of: trial.feed()) }
        for sample in samples[2...] { try await trial.write(sample) }
        try await trial.delete(samples[0])
        let second = try await trial.pullAll(since: first.token)
        if let token = second.token { try await trial.peer.acknowledge(token, of: trial.feed()) }
        // The reader was put back to an earlier state.
        let again: PeerTrial.Pulled
        do {
            again = try await trial.pullAll(since: first.token)
        } catch let error as PeerError
            where [.tokenExpired, .wentBackwards, .readerWentBackwards].contains(error.code)
        {
            return
        }
        try demand(again.additions.count == 2, "\(again.additions.count) of 2 additions come again")
        try demand(again.deletions.count == 1, "the deletion does not come again")
    }

    private static func meanwhile(_ trial: PeerTrial) async throws {
        let samples = (0..<6).map { PeerTrial.foreign(60, hour: $0) }
        for sample in samples[..<5] { try await trial.write(sample) }
        let page = try await trial.peer.pull(PullRequest(type: trial.feed(), limit: 2))
        try demand(!page.isSnapshot || !page.isDrained && page.deletions.isEmpty, "a snapshot is no whole feed")
        try await trial.write(samples[5])
        let told = page.additions.first?.idAtPeer
        if let told, let sample = page.additions.first?.sample {
            try await trial.delete(sample)
            let rest = try await trial.pullAll(since: page.token, limit: 2)
            let ids = Set((page.additions + rest.additions).map(\.idAtPeer))
            try demand(ids.count == 6, "\(ids.count) of 6 samples come")
            try demand(rest.deletions.contains { $0.idAtPeer == told }, "the deletion of a returned sample is missing")
        } else {
            throw Violation("the first page of a feed with content has none")
        }
    }

    private static func reopened(_ trial: PeerTrial) async throws {
        guard let reopen = trial.reopen else { return }
        var trial = trial
        try await trial.write(PeerTrial.foreign(60, hour: 1))
        let first = try await trial.pullAll()
        let name = trial.peer.id
        trial.peer = try await reopen()
        try demand(trial.peer.id == name, "it has another name")
        try await trial.write(PeerTrial.foreign(60, hour: 2))
        let starts = try await trial.pullAll(since: first.token).additions.map(\.sample.start)
        try demand(starts == [PeerTrial.time(2)], "\(starts.count) samples come instead of the new one")
    }

    private static func forgotten(_ trial: PeerTrial) async throws {
        guard let records = trial.records else { return }
        let sample = PeerTrial.weight(72, hour: 1)
        try await trial.push(.save(sample))
        guard let token = try await trial.pullAll().token else { return }
        let told = try await records.forgotten(among: [sample], since: token)
        try demand(told?.isEmpty ?? true, "a sample that the peer holds is reported as deleted")
        let foreign = try await records.forgotten(among: [sample], since: [1, 2, 3])
        try demand(foreign == nil, "an invalid token is accepted")
    }
}
