import HealthKV

/// The progress of a comparison: the samples of one type in the store against those that a peer shows. It remembers a
/// bounded number of samples, however many are missing; the rest is left to the next comparison.
struct PeerComparison: Codable, Sendable, Equatable {
    var began: Instant
    /// Where the enumeration continues; `nil` at its beginning.
    var cursor: [UInt8]?
    /// Samples that start later than this are already compared.
    var end = Instant.distantFuture
    /// Whether the peer showed any foreign sample.
    var isSeen = false
    /// Samples that were shown at the end of the last page: they belong to the next window too.
    var shown: Set<SampleID> = []
    /// How many foreign samples the store holds.
    var held = 0
    /// Missing samples with proof that they could have been shown: the peer showed another foreign sample that is no
    /// later.
    var missing: [SampleID] = []
    /// Missing samples without that proof: the peer has shown no other foreign sample yet that is no later.
    var open: [SampleID] = []
    /// The number of samples without proof, including those that are not remembered.
    var openCount = 0
    /// Whether more samples are missing than the comparison remembers.
    var isCut = false
    /// Samples that this app wrote and that the peer does not show although, as far as is known, it held them. Own
    /// samples are always readable.
    var ownMissing: [OwnMissing] = []
    /// How many own samples are missing that the peer may never have held.
    var doubtful = 0
    /// How many of the shown samples the store already knew.
    var known = 0
    /// How many samples the comparison imported.
    var imported = 0
    /// Whether the enumeration has come to its end, and only the last look at the feed is missing.
    var hasEnded: Bool?

    init(at time: Instant) { began = time }

    /// Moves all open samples to the missing ones: the peer showed a sample that is no later than any of them, so it
    /// would have shown them too had they not been deleted.
    mutating func settleOpen() {
        missing += open
        (open, openCount) = ([], 0)
    }

    /// Takes samples off the missing ones: the peer shows them after all.
    mutating func forget(_ shown: Set<SampleID>) {
        missing.removeAll { shown.contains($0) }
        let count = open.count
        open.removeAll { shown.contains($0) }
        openCount -= count - open.count
    }

    mutating func noteOwn(_ link: PeerLink, limit: Int) {
        guard ownMissing.count < limit else { return isCut = true }
        ownMissing.append(OwnMissing(id: link.sample, idAtPeer: link.idAtPeer))
    }

    mutating func note(_ id: SampleID, isCovered: Bool, limit: Int) {
        if !isCovered { openCount += 1 }
        guard missing.count + open.count < limit else { return isCut = true }
        if isCovered { missing.append(id) } else { open.append(id) }
    }
}

/// An own sample that a peer does not show, and its id at the peer at that time.
struct OwnMissing: Codable, Sendable, Hashable {
    var id: SampleID
    var idAtPeer: SampleID
}

/// What the store keeps of the comparisons of a type, in a note of its own.
struct CheckNote: Codable, Sendable, Equatable {
    /// Samples that the last complete comparison missed. They count as deleted only if the next one misses them too
    /// (SEMANTICS C26).
    var missing: Set<SampleID> = []
    /// Own samples that the last complete comparison missed, if they were many.
    var ownMissing: Set<OwnMissing> = []
    /// The comparison in progress.
    var check: PeerComparison?
}

extension EngineNotes {
    static func check(_ peer: PeerID, _ type: SampleType) -> String { "check:\(peer):\(type.identifier)" }
}
