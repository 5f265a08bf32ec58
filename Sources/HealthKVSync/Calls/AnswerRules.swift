import HealthKV

// The rules that every answer of a peer must follow. An answer that breaks a rule is ignored as a whole.

/// Bounds of answers.
enum AnswerLimits {
    /// The maximum number of bytes in a token or cursor.
    static let placeBytes = 65_536
    /// A page may exceed the requested limit, because samples that belong together stay together.
    static func samples(_ limit: Int) -> Int { max(1_000_000, 16 * max(0, limit)) }
    /// The maximum number of types that a peer may have.
    static let types = 65_536
    /// The maximum number of bytes in the reason of an outcome, which is stored with its operation.
    static let reasonBytes = 65_536
    /// The maximum number of commits that a place in our feed may have behind it. The queues of a store number their
    /// operations by commits of 32 bits.
    static let commits = UInt64(UInt32.max)
    /// Peers store times less exactly than the store does.
    static let rounding: Int64 = 1_000_000
}

private func require(_ isSo: Bool, _ detail: @autoclosure () -> String) throws(PeerError) {
    if !isSo { throw PeerError(.badAnswer, detail()) }
}

extension PullPage {
    func check(_ request: PullRequest, isOfRecords: Bool) throws(PeerError) {
        let limit = AnswerLimits.samples(request.limit)
        try require(additions.count <= limit && deletions.count <= limit, "a page has more than \(limit) entries")
        try require(token?.count ?? 0 <= AnswerLimits.placeBytes, "a token is too long")
        try require(isDrained || token != nil, "more is left, and there is no place")
        try require(!isSnapshot || !isDrained && deletions.isEmpty, "a snapshot has an end or deletions of its own")
        try checkSamples(additions, of: request.type, areRecords: isOfRecords)
        for deletion in deletions {
            let texts = [deletion.syncIdentifier, deletion.group]
            let isShort = texts.allSatisfy { $0?.utf8.count ?? 0 <= AnswerLimits.placeBytes }
            try require(isShort, "a deletion has a text that is too long")
            guard isOfRecords else { continue }
            let isSame = deletion.record.map { PulledDeletion($0) == deletion } ?? false
            try require(isSame, "a deletion says something else than its record")
            try require(
                request.type == .every || deletion.record?.type == request.type, "a deletion is of another type")
        }
    }
}

extension EnumerationPage {
    func check(_ request: EnumerationRequest, isOfRecords: Bool) throws(PeerError) {
        let limit = AnswerLimits.samples(request.limit)
        try require(samples.count <= limit, "a page has more than \(limit) samples")
        try require(cursor?.count ?? 0 <= AnswerLimits.placeBytes, "a cursor is too long")
        try checkSamples(samples, of: request.type, areRecords: isOfRecords)
        try checkOrder(of: samples.lazy.map(\.sample.start), in: request.window)
    }
}

extension OutlinePage {
    func check(_ request: EnumerationRequest) throws(PeerError) {
        let limit = AnswerLimits.samples(request.limit)
        try require(samples.count <= limit, "a page has more than \(limit) samples")
        try require(cursor?.count ?? 0 <= AnswerLimits.placeBytes, "a cursor is too long")
        try checkOrder(of: samples.lazy.map(\.start), in: request.window)
    }
}

private func checkOrder(of starts: some Sequence<Instant>, in window: TimeRange) throws(PeerError) {
    let rounding = AnswerLimits.rounding
    var last = Instant.distantFuture
    for start in starts {
        let isInside = start + rounding >= window.from && start <= window.to + rounding
        try require(isInside, "a sample starts outside of the window")
        try require(start <= last + rounding, "an earlier sample comes before a later one")
        last = start
    }
}

private func checkSamples(
    _ samples: [PulledSample], of type: SampleType, areRecords: Bool
) throws(PeerError) {
    // By index: a sample is large, and each copy of one counts its references.
    for place in samples.indices {
        try require(type == .every || samples[place].sample.type == type, "a sample is of another type")
        if areRecords { try require(samples[place].idAtPeer == samples[place].sample.id, "a record has two ids") }
    }
    // On most pages all samples are foreign.
    guard !areRecords, let isOwn = samples.first?.isOwn, samples.contains(where: { $0.isOwn != isOwn }) else {
        return
    }
    var owners: [SampleID: Bool] = [:]
    for pulled in samples {
        let isOwn = owners.updateValue(pulled.isOwn, forKey: pulled.idAtPeer) ?? pulled.isOwn
        try require(isOwn == pulled.isOwn, "a sample is this app's and another's")
    }
}

extension DailyTotalRequest {
    func check(_ readings: [DayReading]) throws(PeerError) {
        var left = Set(days)
        for reading in readings {
            try require(left.remove(reading.day) != nil, "a day was not asked for, or comes twice")
            guard let quantity = reading.quantity else { continue }
            try require(quantity.value.isFinite, "a total is not finite")
            guard let unit = type.canonicalUnit else { continue }
            let value = try? quantity.value(in: unit)
            try require(value != nil, "a total has a unit of another dimension")
            try require(value?.isFinite == true, "a total is not finite in the unit of its type")
        }
    }
}

extension PeerGreeting {
    func check() throws(PeerError) {
        try require(oldest > 0 && oldest <= version, "a greeting has no version of the protocol")
    }
}

extension PeerMemory {
    /// Accepts places of another store, of another epoch, and after the end of our feed: they tell of restorations.
    func check() throws(PeerError) {
        let isPossible = [place, read].compactMap(\.self).allSatisfy { $0.head <= AnswerLimits.commits }
        try require(isPossible, "a remembered place has more commits behind it than a store can have")
    }
}

extension [PushOutcome] {
    func check(_ operations: [PushOperation]) throws(PeerError) {
        try require(count == operations.count, "\(operations.count) operations have \(count) outcomes")
        let isShort = allSatisfy { $0.reason?.utf8.count ?? 0 <= AnswerLimits.reasonBytes }
        try require(isShort, "an outcome has a reason that is too long")
        var ids: Set<SampleID> = []
        for (operation, outcome) in zip(operations, self) {
            guard case .save = operation.kind, case .done(let id?) = outcome else { continue }
            try require(ids.insert(id).inserted, "two samples were saved under one id")
        }
    }
}

extension SyncDigest {
    func check() throws(PeerError) {
        try require(count > 0 || count == 0 && sum == 0, "a digest is of no possible samples")
    }
}

extension Set<SampleType> {
    func checkTypes() throws(PeerError) {
        try require(count <= AnswerLimits.types, "a peer has more than \(AnswerLimits.types) types")
        let isNamed = allSatisfy { !$0.identifier.isEmpty && $0 != .every }
        try require(isNamed, "a type has no name of its own")
    }
}
