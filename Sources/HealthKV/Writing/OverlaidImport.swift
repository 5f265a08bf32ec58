import HealthModel

/// An imported sample as the two records that are merged apart: what its source said last, and what a person laid over it or took off
/// again (SEMANTICS C7). Each goes by its own version and clock. So two stores that hold an import in different states agree on the newest
/// import beneath the newest edit, whichever store hears of what first.
struct OverlaidImport {
    /// What was imported, as it is where nothing lies over it.
    private(set) var beneath: Sample
    /// The sample with the edit that lies over it, or with the note that one was taken off.
    private var over: Sample?

    init(_ sample: Sample) {
        guard sample.original != nil || sample.reversion != nil else {
            beneath = sample
            return
        }
        over = sample
        beneath = sample.shared
    }

    /// The sample of both.
    var sample: Sample {
        guard let over else { return beneath }
        var sample = beneath
        sample.local = over.local
        guard over.original != nil else {
            sample.reversion = over.reversion
            return sample
        }
        sample.takeOverlay(of: over)
        (sample.version, sample.modified) = (over.version, over.modified)
        sample.original = Sample.Original(of: beneath)
        return sample
    }

    /// With the greater of both records.
    func merged(with other: OverlaidImport) -> OverlaidImport {
        var merged = self
        if beneath.isOlderRecord(than: other.beneath) { merged.beneath = other.beneath }
        guard let theirs = other.over else { return merged }
        if over?.isOlderOverlay(than: theirs) ?? true { merged.over = theirs }
        return merged
    }

    /// With another import beneath.
    func lying(over import: Sample) -> OverlaidImport {
        var changed = self
        changed.beneath = `import`
        return changed
    }
}

extension Sample {
    /// Whether an edit lies over the sample, or one was taken off.
    var hasOverlay: Bool { original != nil || reversion != nil }

    /// Takes over from another version what an edit may lay over an import.
    mutating func takeOverlay(of other: Sample) {
        (start, end, quantity) = (other.start, other.end, other.quantity)
        (isUserEntered, metadata, local) = (other.isUserEntered, other.metadata, other.local)
    }

    /// The version and clock of the edit that lies over the sample, or of what took it off.
    private var overlayOrder: (version: Int64, clock: ChangeClock) {
        if let reversion { return (reversion.version, reversion.modified) }
        return (version, modified ?? .unknown)
    }

    fileprivate func isOlderRecord(than other: Sample) -> Bool {
        let (mine, theirs) = ((version, modified ?? .unknown), (other.version, other.modified ?? .unknown))
        guard mine == theirs else { return mine < theirs }
        // What is noted here decides last: it is not known of an import over which an edit lies.
        let ((content, notes), (others, otherNotes)) = (importBytes, other.importBytes)
        return content == others
            ? notes.lexicographicallyPrecedes(otherNotes) : content.lexicographicallyPrecedes(others)
    }

    fileprivate func isOlderOverlay(than other: Sample) -> Bool {
        let (mine, theirs) = (overlayOrder, other.overlayOrder)
        guard mine == theirs else { return mine < theirs }
        // One replica makes a version once; whatever claims to be the same is settled by its bytes.
        return overlayBytes.lexicographicallyPrecedes(other.overlayBytes)
    }

    private var importBytes: (content: [UInt8], notes: [UInt8]) {
        var (content, notes) = (CanonicalEncoder(), CanonicalEncoder())
        var bare = self
        bare.local = [:]
        content.append(syncIdentifier)
        content.encodeContent(of: bare)
        notes.encode(local)
        return (content.bytes, notes.bytes)
    }

    /// What the overlay says, without what lies beneath.
    private var overlayBytes: [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.append(original == nil ? 1 : 0 as UInt8)
        guard original != nil else {
            encoder.encode(local)
            return encoder.bytes
        }
        var bare = Sample(type, 0, quantity.unit, at: start, id: .max)
        bare.takeOverlay(of: self)
        encoder.encodeContent(of: bare)
        return encoder.bytes
    }

    /// The clocks of what makes up the sample.
    var clocks: [ChangeClock] { [modified, original?.modified, reversion?.modified].compactMap(\.self) }

    /// The greatest version and clock of what makes up the sample: what a deletion has to reach.
    package var lastChange: (version: Int64, clock: ChangeClock) {
        var last = (version, modified ?? .unknown)
        if let original, last < (original.version, original.modified ?? .unknown) {
            last = (original.version, original.modified ?? .unknown)
        }
        if let reversion, last < (reversion.version, reversion.modified) {
            last = (reversion.version, reversion.modified)
        }
        return last
    }
}

extension ChangeClock {
    /// The clock of a version of which nobody knows when it was made.
    package static let unknown = ChangeClock(time: .distantPast, replica: 0)
}
