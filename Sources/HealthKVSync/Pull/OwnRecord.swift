import HealthKV

/// A sample of this app as a peer that keeps no records shows it: with the number that the peer orders versions by, and
/// with the version and clock that the sample had in the store that sent it.
///
/// The number alone does not identify the version: it rises if the peer held other content before (``PeerNumber``). So
/// a sent sample carries its version and clock in its metadata. Another store that reads it merges the original
/// version, not the number.
struct OwnRecord {
    /// The sample with the version and clock of its store, without the fields that were added for the peer.
    var sample: Sample
    /// The number that the peer orders versions by; ``PeerLink/unnamed`` if the sample has no sync identifier.
    let number: Int64
    let idAtPeer: SampleID
    /// Whether the sample carries its version and clock.
    let isStamped: Bool
    /// The clock of the store that made the version.
    private let clock: ChangeClock

    init(_ addition: PulledSample, now: Instant) {
        sample = addition.sample
        idAtPeer = addition.idAtPeer
        number = sample.syncIdentifier == nil ? PeerLink.unnamed : max(1, sample.version)
        if case .string(let text) = sample.metadata.removeValue(forKey: OwnStamp.key), let stamp = OwnStamp(text),
            PeerNumber.isMade(number, of: stamp.clock)
        {
            (isStamped, sample.version, clock) = (true, stamp.version, stamp.clock)
        } else {
            isStamped = false
            sample.version = max(1, PeerNumber.slot(of: number))
            // The time of writing is unknown. A store that knows anything about this version must win.
            clock = ChangeClock(time: min(sample.start, now), replica: 0)
        }
        // The peer keeps less than a store does. So the sample as it was written wins over the copy that came back, and
        // two devices that read the copy hold the same.
        sample.modified = isStamped ? ChangeClock(time: clock.time - 1, replica: clock.replica) : clock
    }

    /// Returns `true` if the peer shows the version that the store holds, even if the peer altered its content. A
    /// replica makes each version of a sample once, unless its file was rolled back; and the copy that comes back is
    /// slightly older.
    func isSame(as held: Sample) -> Bool {
        guard isStamped, let other = held.modified, sample.version == held.version, clock.replica == other.replica
        else { return false }
        let (difference, overflows) = clock.time.nanoseconds.subtractingReportingOverflow(other.time.nanoseconds)
        return !overflows && abs(difference) < 1_000
    }

    func isNewer(than held: Sample) -> Bool { VersionOrder(sample.version, clock) > held.order }

    func isNewer(than deleted: DeletedSample) -> Bool { VersionOrder(sample.version, clock) > deleted.order }

    /// Returns the record with those fields of the store's sample that another program need not know, if another
    /// program wrote the record.
    func keepingUnknownParts(of held: Sample) -> OwnRecord {
        guard !isStamped else { return self }
        var record = self
        record.sample.timeZone = sample.timeZone ?? held.timeZone
        record.sample.group = sample.group ?? held.group
        record.sample.device = sample.device ?? held.device
        if sample.count == 1 { record.sample.count = held.count }
        return record
    }

    /// Returns the record as an edit of the store's sample: the edit was made by another program, which knew the
    /// previous number but not the version.
    func following(_ held: Sample) -> OwnRecord {
        var record = self
        record.sample.version = max(sample.version, Sample.version(after: held.version))
        return record
    }

    /// Returns the sample with a clock that wins over another version's, if the clock of the returned copy is too old
    /// for that.
    func merging(over other: ChangeClock?) -> Sample {
        var sample = sample
        if let other, sample.clock <= other { sample.modified = clock }
        return sample
    }
}

/// The version and clock of an own sample, as recorded in its metadata at a peer.
struct OwnStamp {
    static let key = "HealthKVVersion"

    let version: Int64
    let clock: ChangeClock

    init(version: Int64, clock: ChangeClock) { (self.version, self.clock) = (version, clock) }

    /// Returns `nil` for a text that is no stamp, as another program may have written it.
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
    /// When this version was made, and by which replica.
    var clock: ChangeClock { modified ?? .unknown }

    /// Returns the sample as a peer without records receives it: under a number of the peer, with its own version and
    /// clock in the metadata.
    func numbered(_ number: Int64) -> Sample {
        var sent = self
        if let modified {
            sent.metadata[OwnStamp.key] = .string(OwnStamp(version: max(1, version), clock: modified).text)
        }
        sent.version = number
        return sent
    }
}
