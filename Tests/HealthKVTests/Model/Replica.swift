@testable import HealthKV

/// One that follows the feed: it has nothing but what the feed told it.
struct Replica {
    /// The types it follows; `nil` for all.
    let types: Set<SampleType>?
    var token: ChangeToken?
    var samples: [SampleID: Sample] = [:]
    /// How much it has read since it started over.
    var pages = 0

    mutating func apply(_ page: ChangePage) throws {
        for change in page.changes {
            if let token, change.token <= token {
                throw Mismatch("the feed goes back from \(token) to \(change.token)")
            }
            token = change.token
            switch change.kind {
            case .saved(let sample): samples[sample.id] = sample
            case .deleted(let deleted): samples[deleted.id] = nil
            case .removedRange(let removal): samples = samples.filter { !removal.covers($0.value) }
            case .interrupted(let why): throw Mismatch("interrupted: \(why)")
            }
        }
        if let token, page.next < token { throw Mismatch("the next page begins before the last change") }
        token = page.next
        pages += 1
    }
}

extension ModelRun {
    /// Each replica reads on, some pages or to the end; at the end it must be as the model is.
    func advanceReplicas(wholly: Bool = false) throws {
        if replicas.count < 4, random.chance(0.2) { replicas.append(Replica(types: nil)) }
        for index in replicas.indices where wholly || random.chance(0.6) {
            var left = wholly || random.chance(0.5) ? Int.max : random.number(1..<4)
            while left > 0 {
                left -= 1
                guard try readPage(index) else {
                    try compareReplica(index)
                    break
                }
            }
        }
    }

    /// Reads one page; answers whether there is more.
    private func readPage(_ index: Int) throws -> Bool {
        let (token, types) = (replicas[index].token, replicas[index].types)
        let limit = random.pick([1, 2, 3, 7, 50, 1_000])
        let isExpired = token.map { !isValid($0) } ?? false
        do {
            let page = try store.read { try $0.changes(since: token, limit: limit, of: types) }
            try expect(!isExpired, "an expired token was accepted")
            try expect(page.changes.count <= limit, "a page of \(page.changes.count), not \(limit)")
            try replicas[index].apply(page)
            note("replica \(index) read \(page.changes.count) changes up to \(page.next.commit):\(page.next.ordinal)")
            return page.hasMore
        } catch let error as StoreError where error.code == .tokenExpired {
            try expect(isExpired, "the token \(token?.description ?? "-") has expired: \(error)")
            replicas[index] = Replica(types: types)
            note("replica \(index) starts over")
            return true
        }
    }

    /// What was deleted up to the pruned commit, the token's holder must have seen, or never have seen the sample.
    private func isValid(_ token: ChangeToken) -> Bool {
        let pruned = model.prunedCommit
        return pruned == 0 || token.commit > pruned || token.commit == pruned && token.ordinal == .max
            || token.origin >= pruned
    }

    private func compareReplica(_ index: Int) throws {
        let replica = replicas[index]
        let followed = model.live.values.filter { sample in
            replica.types?.contains(sample.type) ?? true
        }
        // A shadow mark is a view: it changes without a change of the sample.
        func bytes(_ samples: some Sequence<Sample>) -> [SampleID: [UInt8]] {
            Dictionary(
                uniqueKeysWithValues: samples.map { ($0.id, ReferenceModel.wholeBytes($0, ignoringShadow: true)) })
        }
        let (left, right) = (bytes(replica.samples.values), bytes(followed))
        if left == right { return }
        var lines = ["replica \(index) differs, of types \(String(describing: replica.types))"]
        for id in Set(left.keys).union(right.keys).sorted() where left[id] != right[id] {
            lines.append(
                left[id] == nil ? "  missing: \(id)" : right[id] == nil ? "  too many: \(id)" : "  not as it is: \(id)")
        }
        throw Mismatch(lines.joined(separator: "\n"))
    }

    /// From the beginning each live sample comes exactly once, each deletion that stands too.
    func compareFeed(_ txn: borrowing ReadTransaction) throws {
        var saved: [SampleID] = []
        var deleted: [SampleID] = []
        var token: ChangeToken?
        var hasMore = true
        while hasMore {
            let page = try txn.changes(since: token, limit: random.pick([1, 5, 100]))
            for change in page.changes {
                if let token, change.token <= token { throw Mismatch("the feed goes back") }
                token = change.token
                if case .saved(let sample) = change.kind { saved.append(sample.id) }
                if case .deleted(let sample) = change.kind { deleted.append(sample.id) }
            }
            token = page.next
            hasMore = page.hasMore
        }
        try expect(token == txn.currentToken, "the feed ends at \(String(describing: token))")
        try expect(
            saved.sorted() == model.live.keys.sorted(),
            "the feed tells of \(saved.count) samples, not \(model.live.count)")
        try expect(deleted.allSatisfy { model.live[$0] == nil }, "the feed tells of a deletion that does not stand")
    }
}
