import HealthKV

/// What a report says of a store: counts and times, no health value.
struct StoreFacts {
    /// The name of the store's folder, without the folders above it.
    let name: String
    let zone: Zone
    let made: Instant
    let fileBytes: Int?
    var health = HealthFacts()
    /// `nil` where the store cannot be opened.
    var info: StoreInfo?
    /// Those with the most samples first.
    var types: [TypeFacts] = []
    /// Those with the most samples first.
    var sources: [SourceFacts] = []
    var peers: [PeerFacts] = []

    /// The samples that were read.
    var samples: Int { types.reduce(0) { $0 + $1.span.samples } }
}

/// Whether the file is sound, and what of it could not be read.
struct HealthFacts {
    /// Samples of a type that are lost or doubtful, by the days on which they begin.
    struct LostPart {
        let type: String
        let what: String
        let samples: Int?
        let from: Instant?
        let to: Instant?
    }

    var findings: [Finding] = []
    /// The number of findings beyond those.
    var omitted = 0
    var unexamined: [String] = []
    /// Whether all findings are values of a newer release.
    var isOfNewerRelease = false
    /// Whether the system ended the process that read the file.
    var isCutShort = false
    /// Whether the samples were searched for in the pages, since the store cannot be opened.
    var isSalvaged = false
    var lost: [LostPart] = []
    /// Parts of the report that could not be read.
    var unread: [String] = []

    /// The number of all findings.
    var count: Int { findings.count + omitted + (isCutShort ? 1 : 0) }
    var isClean: Bool { count == 0 && lost.isEmpty && unread.isEmpty }

    /// How the tool ends.
    var code: ExitCode { isClean ? .clean : isOfNewerRelease ? .failed : .damage }

    /// The result in a sentence.
    var sentence: String {
        if isClean { return "The store is clean." }
        if isOfNewerRelease {
            return "A newer release wrote \(ReportText.count(count, "value")): update kvinspect. "
                + "Nothing is known to be damaged."
        }
        if count == 0 { return "Parts of the store cannot be read." }
        return "The store is damaged: \(ReportText.count(count, "finding"))."
    }
}

/// One type of samples.
struct TypeFacts {
    let name: String
    /// Live samples by the store's own count.
    let recorded: Int
    /// The bytes of its chunks and details; `nil` where another store holds them.
    let bytes: Int?
    var span = TallySpan()
    var hours: [Int] = []
    /// Only for the types with the most samples.
    var calendar: DensityCalendar?
    var gaps: [LongestGaps.Gap] = []

    var bytesPerSample: Double? {
        guard let bytes, recorded > 0 else { return nil }
        return Double(bytes) / Double(recorded)
    }
}

/// One app or device that samples came from.
struct SourceFacts {
    let source: SourceIdentity
    let span: TallySpan
}

/// What waits for a peer, and how far its feed was read.
struct PeerFacts {
    let name: String
    let lastSeen: Instant?
    let isRetired: Bool
    /// `nil` where the queue cannot be read.
    let queue: PendingCounts?
    let anchors: Int
    let lastAnchor: Instant?
}
