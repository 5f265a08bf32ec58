import HealthKVSync

/// What every peer must hold to; `docs/PEERS.md` says the same in words.
///
/// ```swift
/// let violations = await PeerSuite.run { PeerTrial(MyPeer(), write: { … }, delete: { … }) }
/// ```
package enum PeerSuite {
    typealias Check = @Sendable (PeerTrial) async throws -> Void

    static let checks: [(name: String, check: Check)] = [
        ("an empty feed is drained at once and has a place to go on from", empty),
        ("what others write comes once, with its source", additions),
        ("pages of any size say the same", pages),
        ("what others delete is named as it was pulled", deletions),
        ("a token that is none expires", badToken),
        ("saving twice doubles nothing", saveTwice),
        ("a greater version replaces, a lower one is passed over", versions),
        ("deleting what is not there succeeds", deleteTwice),
        ("what was saved before there were sync identifiers is replaced and deleted by its id", unnamed),
        ("what was pushed comes back as our own", echo),
        ("an enumeration is whole, the latest first, within its window", enumeration),
        ("no operations, no outcomes", nothing),
        ("a change is called out", wakeUp),
        ("equal content has equal digests", digests),
    ]

    /// Tries each rule on a fresh peer, and answers what was violated.
    package static func run(_ make: @Sendable () async throws -> PeerTrial) async -> [String] {
        var violations: [String] = []
        for (name, check) in checks {
            do {
                try await check(try await make())
            } catch {
                violations.append("\(name): \(error)")
            }
        }
        return violations
    }

    private static func empty(_ trial: PeerTrial) async throws {
        let isThere = await trial.peer.availability() == .available
        try demand(isThere, "the peer is not there")
        let page = try await trial.peer.pull(PullRequest(type: trial.feed))
        try demand(page.isDrained && page.additions.isEmpty && page.deletions.isEmpty, "the feed is not empty")
        try demand(page.token != nil, "there is no token")
        let again = try await trial.pullAll(since: page.token)
        try demand(again.additions.isEmpty, "something came from nowhere")
    }

    private static func additions(_ trial: PeerTrial) async throws {
        let sample = PeerTrial.foreign(72, hour: 1)
        try await trial.write(sample)
        let first = try await trial.pullAll()
        try demand(first.additions.count == 1, "\(first.additions.count) additions")
        let pulled = first.additions[0]
        try demand(!pulled.isOwn, "it is taken for our own")
        try demand(pulled.sample.source.name == sample.source.name, "its source is lost")
        try demand(pulled.sample.isSameTimeAndType(as: sample), "it has another type or time")
        let second = try await trial.pullAll(since: first.token)
        try demand(second.additions.isEmpty && second.deletions.isEmpty, "it comes again")
    }

    private static func pages(_ trial: PeerTrial) async throws {
        for hour in 0..<23 { try await trial.write(PeerTrial.foreign(60 + Double(hour), hour: hour)) }
        for limit in [1, 2, 7, 100] {
            let ids = try await trial.pullAll(limit: limit).additions.map(\.peerID)
            try demand(Set(ids).count == 23 && ids.count == 23, "pages of \(limit) give \(ids.count)")
        }
    }

    private static func deletions(_ trial: PeerTrial) async throws {
        let samples = [PeerTrial.foreign(72, hour: 1), PeerTrial.foreign(73, hour: 2)]
        for sample in samples { try await trial.write(sample) }
        let first = try await trial.pullAll()
        let target = first.additions.first { $0.sample.isSameTimeAndType(as: samples[0]) }
        try await trial.delete(samples[0])
        let second = try await trial.pullAll(since: first.token, limit: 1)
        try demand(second.deletions.map(\.peerID) == [target?.peerID], "the deletion does not name what was pulled")
        let fresh = try await trial.pullAll()
        try demand(fresh.additions.count == 1, "a fresh reader is told of what is gone")
    }

    private static func badToken(_ trial: PeerTrial) async throws {
        do {
            _ = try await trial.peer.pull(PullRequest(type: trial.feed, token: [1, 2, 3]))
        } catch {
            return try demand(error.code == .tokenExpired, "it ends as \(error.code)")
        }
        throw Violation("it is accepted")
    }

    private static func saveTwice(_ trial: PeerTrial) async throws {
        let sample = PeerTrial.weight(72, hour: 1)
        try await trial.push(.save(sample))
        try await trial.push(.save(sample))
        try demand(try await trial.enumerateAll().count == 1, "it is there twice")
    }

    private static func versions(_ trial: PeerTrial) async throws {
        let id = SampleID()
        try await trial.push(.save(PeerTrial.weight(72, hour: 1, version: 1, id: id)))
        try await trial.push(.save(PeerTrial.weight(70, hour: 1, version: 3, id: id)))
        try await trial.push(.save(PeerTrial.weight(71, hour: 1, version: 2, id: id)))
        let held = try await trial.enumerateAll().map(\.sample)
        try demand(held.count == 1, "\(held.count) versions are there")
        try demand(held[0].version == 3, "version \(held[0].version) is there")
    }

    private static func deleteTwice(_ trial: PeerTrial) async throws {
        let sample = PeerTrial.weight(72, hour: 1)
        try await trial.push(.save(sample), .save(PeerTrial.weight(80, hour: 2)))
        try await trial.push(PeerTrial.deletion(of: sample))
        try await trial.push(PeerTrial.deletion(of: sample))
        try await trial.push(PeerTrial.deletion(of: PeerTrial.weight(60, hour: 9)))
        try demand(try await trial.enumerateAll().count == 1, "not just one is left")
    }

    private static func unnamed(_ trial: PeerTrial) async throws {
        guard let writeOwn = trial.writeOwn else { return }
        var samples = [PeerTrial.weight(72, hour: 1), PeerTrial.weight(73, hour: 2)]
        for index in samples.indices {
            samples[index].syncIdentifier = nil
            try await writeOwn(samples[index])
        }
        let held = try await trial.pullAll().additions
        func id(_ sample: Sample) -> SampleID? { held.first { $0.sample.isSameTimeAndType(as: sample) }?.peerID }
        try demand(held.count == 2 && held.allSatisfy(\.isOwn), "they are not there as our own")
        var edit = PeerTrial.weight(70, hour: 1, version: 2, id: samples[0].id)
        edit.modified = samples[0].modified
        let outcomes = await trial.peer.push([
            PushOperation(sequence: 1, kind: .save(edit), peerID: id(samples[0]), replacesUnnamed: true),
            PushOperation(sequence: 2, kind: PeerTrial.deletion(of: samples[1]), peerID: id(samples[1])),
        ])
        for outcome in outcomes { try demand(outcome.isDone, "it ends as \(outcome)") }
        let left = try await trial.enumerateAll().map(\.sample.version)
        try demand(left == [2], "versions \(left) are there")
    }

    private static func echo(_ trial: PeerTrial) async throws {
        let sample = PeerTrial.weight(72, hour: 1)
        try await trial.push(.save(sample))
        let pulled = try await trial.pullAll().additions
        try demand(pulled.count == 1, "\(pulled.count) came back")
        if trial.peer.traits.keepsRecords {
            try demand(
                pulled[0].sample.id == sample.id && pulled[0].sample.modified == sample.modified, "it is changed")
        } else {
            try demand(pulled[0].isOwn, "it is taken for another's")
            try demand(pulled[0].sample.syncIdentifier == sample.syncIdentifier, "its sync identifier is lost")
            try demand(pulled[0].sample.version == sample.version, "its version is lost")
        }
    }

    private static func enumeration(_ trial: PeerTrial) async throws {
        for hour in 0..<10 { try await trial.write(PeerTrial.foreign(60, hour: hour)) }
        for limit in [1, 3, 50] {
            let starts = try await trial.enumerateAll(limit: limit).map(\.sample.start)
            try demand(Set(starts).count == 10, "pages of \(limit) leave samples out")
            try demand(zip(starts, starts.dropFirst()).allSatisfy { $0 >= $1 }, "they are not in order")
        }
        let (from, to) = (PeerTrial.weight(0, hour: 2).start, PeerTrial.weight(0, hour: 5).start)
        let some = try await trial.enumerateAll(TimeRange(from: from, to: to)).map(\.sample.start)
        try demand(some.count == 3 && some.allSatisfy { $0 >= from && $0 < to }, "the window has \(some.count)")
    }

    private static func nothing(_ trial: PeerTrial) async throws {
        let outcomes = await trial.peer.push([])
        try demand(outcomes.isEmpty, "there are \(outcomes.count)")
    }

    private static func wakeUp(_ trial: PeerTrial) async throws {
        let called = try await withThrowingTaskGroup(of: Bool.self) { group in
            let calls = trial.peer.wakeUps(for: [trial.feed])
            group.addTask {
                for await call in calls {
                    call.complete()
                    return true
                }
                return false
            }
            group.addTask {
                // Some of them may come before anybody listens.
                for hour in 0..<200 {
                    try await trial.write(PeerTrial.foreign(72, hour: hour))
                    try await Task.sleep(for: .milliseconds(5))
                }
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
        try demand(called, "nobody called")
    }

    private static func digests(_ trial: PeerTrial) async throws {
        guard let empty = try await trial.peer.digest(of: .bodyMass, in: .all) else { return }
        try demand(empty == SyncDigest(), "nothing has a digest of something")
        let sample = PeerTrial.weight(72, hour: 1)
        try await trial.push(.save(sample))
        let pulled = try await trial.enumerateAll().map(\.sample)
        var own = SyncDigest()
        for sample in pulled { own.add(sample) }
        try demand(try await trial.peer.digest(of: .bodyMass, in: .all) == own, "it is not that of what is there")
    }
}

extension PushOutcome {
    fileprivate var isDone: Bool { if case .done = self { true } else { false } }
}

extension Sample {
    fileprivate func isSameTimeAndType(as other: Sample) -> Bool {
        type == other.type && abs(start.nanoseconds - other.start.nanoseconds) < 1_000_000
    }
}
