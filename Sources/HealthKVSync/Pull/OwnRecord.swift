import HealthKV

/// A sample of this app as a peer that keeps no records shows it: the number that the peer orders versions by, and the version and clock
/// that the sample had in the store that sent it.
///
/// The number alone does not tell the version: it rises where a peer held other content before (``PeerNumber``). So a sent sample carries
/// its version and clock in its metadata. Another store that reads it merges the version that was made, not the one that was sent.
struct OwnRecord {
    /// The sample with the version and clock of its store, without what was added for the peer.
    var sample: Sample
    /// What the peer orders versions by; ``PeerLink/unnamed`` where the sample has no sync identifier.
    let number: Int64
    let peerID: SampleID
    /// Whether the sample carries its version and clock.
    let isStamped: Bool
    /// The clock that the version was made at.
    private let clock: ChangeClock

    init(_ addition: PulledSample, now: Instant) {
        sample = addition.sample
        peerID = addition.peerID
        number = sample.syncIdentifier == nil ? PeerLink.unnamed : max(1, sample.version)
        if case .string(let text) = sample.metadata.removeValue(forKey: OwnStamp.key), let stamp = OwnStamp(text),
            PeerNumber.isMade(number, of: stamp.clock)
        {
            (isStamped, sample.version, clock) = (true, stamp.version, stamp.clock)
        } else {
            isStamped = false
            sample.version = max(1, PeerNumber.slot(of: number))
            // Nobody knows when it was written. A store that knows something of this version is to win.
            clock = ChangeClock(time: min(sample.start, now), replica: 0)
        }
        // The peer keeps less than a store does: the sample as it was written wins over what came back of it, and two devices that
        // read it hold the same.
        sample.modified = isStamped ? ChangeClock(time: clock.time - 1, replica: clock.replica) : clock
    }

    /// Whether the peer shows the version that is held, whatever it made of its content. A replica makes each version of a sample once; what
    /// came back of it is a little older.
    func isSame(as held: Sample) -> Bool {
        guard isStamped, let other = held.modified, sample.version == held.version, clock.replica == other.replica
        else { return false }
        let (difference, overflows) = clock.time.nanoseconds.subtractingReportingOverflow(other.time.nanoseconds)
        return !overflows && abs(difference) < 1_000
    }

    func isNewer(than held: Sample) -> Bool { isNewer(than: held.version, held.modified) }

    func isNewer(than deleted: DeletedSample) -> Bool { isNewer(than: deleted.version, deleted.modified) }

    private func isNewer(than version: Int64, _ other: ChangeClock?) -> Bool {
        (sample.version, clock) > (version, other ?? .unknown)
    }

    /// The record with those parts of what is held that another program need not know of, where that wrote it.
    func keepingUnknownParts(of held: Sample) -> OwnRecord {
        guard !isStamped else { return self }
        var record = self
        record.sample.timeZone = sample.timeZone ?? held.timeZone
        record.sample.group = sample.group ?? held.group
        record.sample.device = sample.device ?? held.device
        if sample.count == 1 { record.sample.count = held.count }
        return record
    }

    /// The record as an edit of what is held: another program made it, which knew the number before and not the version.
    func following(_ held: Sample) -> OwnRecord {
        var record = self
        record.sample.version = max(sample.version, Sample.version(after: held.version))
        return record
    }

    /// The sample with a clock that wins over another version's, where the clock of what came back would be too old.
    func merging(over other: ChangeClock?) -> Sample {
        var sample = sample
        if let other, sample.clock <= other { sample.modified = clock }
        return sample
    }
}

/// The version and clock of an own sample, as its metadata at a peer tells them.
struct OwnStamp {
    static let key = "HealthKVVersion"

    let version: Int64
    let clock: ChangeClock

    init(version: Int64, clock: ChangeClock) { (self.version, self.clock) = (version, clock) }

    /// `nil` for a text that is none, as another program may have written.
    init?(_ text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 3, let version = Int64(parts[0]), let time = Int64(parts[1]),
            let replica = UInt32(parts[2]), (1..<Sample.versionLimit).contains(version)
        else { return nil }
        self.init(version: version, clock: ChangeClock(time: Instant(nanoseconds: time), replica: replica))
    }

    var text: String { "\(version) \(clock.time.nanoseconds) \(clock.replica)" }
}

extension Sample {
    /// When this version was made, and where.
    var clock: ChangeClock { modified ?? .unknown }

    /// The sample as a peer without records gets it: under a number of the peer, with its own version and clock in the metadata.
    func numbered(_ number: Int64) -> Sample {
        var sent = self
        if let modified {
            sent.metadata[OwnStamp.key] = .string(OwnStamp(version: max(1, version), clock: modified).text)
        }
        sent.version = number
        return sent
    }
}
