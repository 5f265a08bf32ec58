import HealthKV

/// A comparison of what is held of a type with what a peer shows, as far as it has come. What it remembers has a greatest size, however
/// much is missing: what is beyond it is left to the next comparison.
struct PeerComparison: Codable, Sendable, Equatable {
    var began: Instant
    /// Where the enumeration goes on; `nil` at its beginning.
    var cursor: [UInt8]?
    /// What starts later than this is compared.
    var end = Instant.distantFuture
    /// Whether something of others was shown.
    var isSeen = false
    /// What was shown at the end of the last page: it belongs to the next window too.
    var shown: Set<SampleID> = []
    /// How many samples of others are held.
    var held = 0
    /// Samples that are missing though others were shown that are no later.
    var missing: [SampleID] = []
    /// Missing samples for which no other was shown yet that is no later.
    var open: [SampleID] = []
    /// How many of these there are, remembered or not.
    var openCount = 0
    /// Whether more is missing than is remembered.
    var isCut = false
    /// Samples that this app wrote and that the peer held, as far as is known, and does not show. Own samples are always readable.
    var ownMissing: [OwnMissing]? = []
    /// How many own samples are missing that the peer may never have held.
    var doubtful: Int?
    /// How much was shown that the store knew.
    var known: Int?
    /// What came with it.
    var imported = 0

    init(at time: Instant) { began = time }

    /// A sample was shown that is no later than all that is open: had they not been deleted, they would have been shown too.
    mutating func settleOpen() {
        missing += open
        (open, openCount) = ([], 0)
    }

    mutating func noteOwn(_ link: PeerLink, limit: Int) {
        guard ownMissing?.count ?? 0 < limit else { return isCut = true }
        ownMissing?.append(OwnMissing(id: link.sample, peerID: link.peerID))
    }

    mutating func note(_ id: SampleID, isCovered: Bool, limit: Int) {
        if !isCovered { openCount += 1 }
        guard missing.count + open.count < limit else { return isCut = true }
        if isCovered { missing.append(id) } else { open.append(id) }
    }
}

/// An own sample that a peer does not show, and what the peer called it by then.
struct OwnMissing: Codable, Sendable, Hashable {
    var id: SampleID
    var peerID: SampleID
}

/// What is kept of the comparisons of a type, in a note of its own.
struct CheckNote: Codable, Sendable, Equatable {
    /// What the last whole comparison missed: gone only if the next one misses it too (SEMANTICS C26).
    var missing: Set<SampleID> = []
    /// Own samples that the last whole comparison missed, where they were many.
    var ownMissing: Set<OwnMissing>?
    /// The comparison under way.
    var check: PeerComparison?
}

extension EngineNotes {
    static func check(_ peer: String, _ type: SampleType) -> String { "check:\(peer):\(type.identifier)" }
}

extension SampleReading where Self: ~Copyable {
    func checkNote(_ peer: String, _ type: SampleType) throws -> CheckNote {
        try EngineNotes.decode(syncNote(EngineNotes.check(peer, type)), as: CheckNote.self) ?? CheckNote()
    }
}

extension WriteTransaction {
    mutating func setCheckNote(_ note: CheckNote, _ peer: String, _ type: SampleType) throws {
        guard try checkNote(peer, type) != note else { return }
        let bytes = note == CheckNote() ? nil : try EngineNotes.encode(note)
        try setSyncNote(EngineNotes.check(peer, type), bytes)
    }
}
