import HealthKV

/// What the engine remembers of one type at one peer.
struct TypeState: Codable, Sendable, Equatable {
    /// Where the reading of the feed is.
    var phase = FeedPhase.notBegun
    var history = FeedHistory()
    /// How the last pulls ended.
    var pulls = PullHealth.well
    var doubt = Doubt.none
    /// Whether foreign samples still show.
    var visibility = Visibility.shown
    var waiting = WaitingDeletions()
    /// Whether samples from before the peer was enabled are in its queue.
    var isExported = false
    /// Whether a foreign sample arrived after none had arrived before, or none for a while. Then there may be more
    /// (SEMANTICS C23).
    var needsRescan = false
    /// The sources of the samples that this peer brought.
    var sources: Set<SourceIdentity> = []
    /// Local days whose totals must be read again.
    var staleDays: Set<String> = []
    var imported = 0
    var authorization: TypeAuthorization?
    /// When the user was first asked to allow reading the type, as far as is known.
    var asked: Instant?
    var lastRescan: Instant?
    var lastForeign: Instant?
    /// When the feed was last read to its end after it was read from its beginning. Samples that arrive later were
    /// written later (SEMANTICS C2).
    var lastLook: Instant?
    /// When the foreign samples in the store are next compared with those that the peer shows; `nil` if no comparison
    /// is due.
    var checkDue: Instant?
    /// Whether the peer was found to hold a greater version of a sample than was sent to it, and the feed, which shows
    /// that version, was not read since.
    var isOvertaken = false
    /// Why the peer could not be told how far its feed is stored, and when the engine tries again; `nil` once it was
    /// told.
    var unacknowledged: PullFailure?

    /// Names the feed of the type. An anchor is valid only with its predicate (SEMANTICS A13).
    var scope: String { history.horizon.map { "from:\($0.nanoseconds)" } ?? "" }

    /// Notes a page, or the end of the feed. The feed was read to its end once every deletion that waited for it is
    /// applied.
    mutating func noteArrival(isEnd: Bool, at now: Instant) {
        let isDrained = isEnd && waiting.blocks == nil
        phase.handle(isDrained ? .ended : .arrived(now))
        guard isDrained else { return }
        history.isInOrder = true
        history.noteEnd()
    }

    /// What is known of the access to read the type (SEMANTICS C36).
    var readAccess: ReadAccess {
        if visibility.isRevoked { return .suspectedRevoked }
        if !sources.isEmpty || lastForeign != nil { return .readable }
        return asked == nil ? .notDetermined : .noDataOrDenied
    }
}

/// Deletions that wait for the end of a feed, because their replacements may follow.
struct WaitingDeletions: Codable, Sendable, Equatable {
    /// The last of them, or all if there are few.
    var latest: [DeferredDeletion] = []
    /// Where the others are stored; `nil` while they are few.
    var blocks: DeferredBlocks?

    var isEmpty: Bool { latest.isEmpty && blocks == nil }
}
