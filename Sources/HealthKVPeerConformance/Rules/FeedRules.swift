import HealthKVSync

// Rules for samples that others write and delete.
extension PeerConformance {
    static let feeds = [
        PeerRule("empty-feed", "an empty feed is drained at once and has a token", empty),
        PeerRule("additions", "samples of others are returned once, with source, time and value", additions),
        PeerRule("pages", "pages of any size return the same changes", pages),
        PeerRule("order", "a feed is in the order in which it was written", order),
        PeerRule("deletions", "a deletion by others names the sample by the id that was pulled", deletions),
        PeerRule("feed-of-type", "a feed contains only the requested types", feedOfType),
        PeerRule("from", "a feed leaves out only samples that start before its bound", from),
    ]

    private static func empty(_ trial: PeerTrial) async throws {
        let availability = await trial.peer.availability()
        try demand(availability == .available, "the peer is \(availability)")
        let page = try await trial.peer.pull(PullRequest(type: trial.feed()))
        try demand(page.additions.isEmpty && page.deletions.isEmpty, "the feed is not empty")
        try demand(page.isDrained, "something is said to be left")
        try demand(page.token != nil, "there is no token")
        let again = try await trial.pullAll(since: page.token)
        try demand(again.additions.isEmpty && again.deletions.isEmpty, "the second page of an empty feed is not empty")
    }

    private static func additions(_ trial: PeerTrial) async throws {
        let sample = PeerTrial.foreign(72, hour: 1)
        try await trial.write(sample)
        let first = try await trial.pullAll()
        try demand(first.additions.count == 1, "there are \(first.additions.count) additions")
        let pulled = first.additions[0]
        try demand(!pulled.isOwn, "it is taken for our own")
        try demand(pulled.sample.source.name == sample.source.name, "its source is lost")
        try demand(pulled.sample.isSameTimeAndType(as: sample), "it has another type or time")
        try demand(pulled.sample.isSameValue(as: sample), "it has another value")
        let second = try await trial.pullAll(since: first.token)
        try demand(second.additions.isEmpty && second.deletions.isEmpty, "it comes again")
    }

    private static func pages(_ trial: PeerTrial) async throws {
        for hour in 0..<23 { try await trial.write(PeerTrial.foreign(60 + Double(hour), hour: hour)) }
        for limit in [1, 2, 7, 100] {
            let ids = try await trial.pullAll(limit: limit).additions.map(\.idAtPeer)
            try demand(ids.count == 23, "pages of \(limit) give \(ids.count) of 23 samples")
            try demand(Set(ids).count == 23, "pages of \(limit) give a sample twice and leave another out")
        }
    }

    private static func order(_ trial: PeerTrial) async throws {
        let hours = [3, 0, 4, 1, 5, 2, 6]
        for hour in hours { try await trial.write(PeerTrial.foreign(60, hour: hour)) }
        let times = hours.map { PeerTrial.time($0) }
        for limit in [2, 100] {
            let starts = try await trial.pullAll(limit: limit).additions.map(\.sample.start)
            try demand(starts == times, "pages of \(limit) have another order")
        }
    }

    private static func deletions(_ trial: PeerTrial) async throws {
        let samples = [PeerTrial.foreign(72, hour: 1), PeerTrial.foreign(73, hour: 2)]
        for sample in samples { try await trial.write(sample) }
        let first = try await trial.pullAll()
        let target = first.additions.first { $0.sample.isSameTimeAndType(as: samples[0]) }
        try await trial.delete(samples[0])
        let second = try await trial.pullAll(since: first.token, limit: 1)
        try demand(!second.deletions.isEmpty, "the deletion is not reported")
        try demand(second.deletions.map(\.idAtPeer) == [target?.idAtPeer], "the deletion does not name the pulled id")
        let fresh = try await trial.pullAll()
        try demand(fresh.additions.count == 1, "a new reader is given a deleted sample")
    }

    private static func feedOfType(_ trial: PeerTrial) async throws {
        guard trial.knowsSteps else { return }
        try await trial.write(PeerTrial.foreign(72, hour: 1))
        try await trial.write(PeerTrial.foreign(500, hour: 2, type: .stepCount))
        for type in [SampleType.bodyMass, .stepCount] {
            let types = Set(try await trial.pullAll(type).additions.map(\.sample.type))
            let asked: Set = trial.records != nil ? [.bodyMass, .stepCount] : [type]
            try demand(types == asked, "the feed of \(trial.feed(of: type)) has \(types.map(\.identifier).sorted())")
            let listed = Set(try await trial.enumerateAll(type).map(\.sample.type))
            try demand(listed == [type], "the enumeration of \(type) has \(listed.map(\.identifier).sorted())")
        }
    }

    private static func from(_ trial: PeerTrial) async throws {
        // One feed of all types has no bound for one type: the engine leaves out samples outside its plan.
        if trial.records != nil { return }
        for hour in 0..<6 { try await trial.write(PeerTrial.foreign(60, hour: hour)) }
        let starts = try await trial.pullAll(from: PeerTrial.time(3), limit: 2).additions.map(\.sample.start)
        try demand(starts.allSatisfy { $0 >= PeerTrial.time(3) }, "earlier samples come")
        try demand(starts.count == 3, "\(starts.count) of 3 samples come")
    }
}
