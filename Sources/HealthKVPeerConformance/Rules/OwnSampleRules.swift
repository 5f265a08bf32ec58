import HealthKVSync

// Rules for our own samples that come back.
extension PeerConformance {
    static let ownSamples = [
        PeerRule("echo", "a pushed sample returns as our own, unchanged", echo),
        PeerRule("replacement", "a greater version is reported, and so is the end of the replaced one", replacement),
        PeerRule("own-deletions", "a sample deleted by a push is not returned to a new reader", ownDeletions),
    ]

    private static func echo(_ trial: PeerTrial) async throws {
        let sample = PeerTrial.weight(72, hour: 1)
        try await trial.push(.save(sample))
        let all = try await trial.pullAll().additions
        try demand(all.count == 1, "\(all.count) came back")
        let pulled = all[0]
        try demand(pulled.sample.isSameTimeAndType(as: sample), "it has another type or time")
        try demand(pulled.sample.isSameValue(as: sample), "it has another value")
        try demand(pulled.sample.syncIdentifier == sample.syncIdentifier, "its sync identifier is lost")
        try demand(pulled.sample.version == sample.version, "its version is lost")
        if trial.records != nil {
            try demand(pulled.sample.id == sample.id, "a peer that keeps records gave it another id")
            try demand(pulled.sample.modified == sample.modified, "a peer that keeps records changed its clock")
        } else {
            try demand(pulled.isOwn, "it is taken for another's")
        }
    }

    private static func replacement(_ trial: PeerTrial) async throws {
        let id = SampleID()
        try await trial.push(.save(PeerTrial.weight(72, hour: 1, id: id)))
        let first = try await trial.pullAll()
        try await trial.push(.save(PeerTrial.weight(70, hour: 1, version: 2, id: id)))
        let fresh = try await trial.pullAll().additions
        try demand(
            fresh.map(\.sample.version) == [2], "a fresh reader is given versions \(fresh.map(\.sample.version))")
        // A store leaves changes that came through this peer itself out of the feed.
        if trial.records != nil { return }
        let second = try await trial.pullAll(since: first.token, limit: 1)
        try demand(second.additions.map(\.sample.version) == [2], "the new version is not reported")
        let older = first.additions.first?.idAtPeer
        if older != second.additions.first?.idAtPeer {
            try demand(second.deletions.map(\.idAtPeer) == [older], "the end of the old version is not reported")
        }
    }

    private static func ownDeletions(_ trial: PeerTrial) async throws {
        let samples = [PeerTrial.weight(72, hour: 1), PeerTrial.weight(73, hour: 2)]
        try await trial.push(.save(samples[0]), .save(samples[1]))
        let first = try await trial.pullAll()
        let target = first.additions.first { $0.sample.isSameTimeAndType(as: samples[0]) }
        try await trial.push(PeerTrial.deletion(of: samples[0]))
        let fresh = try await trial.pullAll().additions
        try demand(fresh.count == 1, "a fresh reader is given \(fresh.count) samples instead of 1")
        if trial.records != nil { return }
        let second = try await trial.pullAll(since: first.token)
        try demand(second.deletions.map(\.idAtPeer) == [target?.idAtPeer], "the deletion does not name the pulled id")
    }
}
