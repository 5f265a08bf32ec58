import HealthModel

/// An imported sample as two records that are merged separately: the latest import from its source, and the edit that a
/// person laid over it or took off again (SEMANTICS C7). Each record has its own version and clock. Two stores that
/// hold an import in different states therefore agree on the newest import beneath the newest edit, in whichever order
/// they learn of them.
struct OverlaidImport {
    /// The imported sample, without the edit that lies over it.
    private(set) var beneath: Sample
    /// The sample with the edit that lies over it, or with the note that an edit was taken off.
    private var over: Sample?

    init(_ sample: Sample) {
        guard sample.original != nil || sample.reversion != nil else {
            beneath = sample
            return
        }
        over = sample
        beneath = sample.shared
    }

    /// The sample that combines both records.
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

    /// Returns the greater of both records, for the import and for the edit separately.
    func merged(with other: OverlaidImport) -> OverlaidImport {
        var merged = self
        if beneath.isOlderRecord(than: other.beneath) { merged.beneath = other.beneath }
        guard let theirs = other.over else { return merged }
        if over?.isOlderOverlay(than: theirs) ?? true { merged.over = theirs }
        return merged
    }

    /// Returns the same edit over another import.
    func lying(over import: Sample) -> OverlaidImport {
        var changed = self
        changed.beneath = `import`
        return changed
    }
}

extension Sample {
    /// Whether an edit lies over the sample, or was taken off it.
    var hasOverlay: Bool { original != nil || reversion != nil }

    /// Copies from another version the fields that an edit may change on an import.
    mutating func takeOverlay(of other: Sample) {
        (start, end, quantity) = (other.start, other.end, other.quantity)
        (isUserEntered, metadata, local) = (other.isUserEntered, other.metadata, other.local)
    }

    /// The version and clock of the edit that lies over the sample, or of the reversion that took it off.
    private var overlayOrder: VersionOrder { reversion?.order ?? order }

    fileprivate func isOlderRecord(than other: Sample) -> Bool {
        guard order == other.order else { return order < other.order }
        // Local notes are compared last, because a store does not know the notes of an import that an edit covers.
        let ((content, notes), (others, otherNotes)) = (importBytes, other.importBytes)
        return content == others
            ? notes.lexicographicallyPrecedes(otherNotes) : content.lexicographicallyPrecedes(others)
    }

    fileprivate func isOlderOverlay(than other: Sample) -> Bool {
        let (mine, theirs) = (overlayOrder, other.overlayOrder)
        guard mine == theirs else { return mine < theirs }
        // A replica creates each version once. If two records still have the same version and clock, their bytes
        // decide.
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

    /// The canonical bytes of the overlay, without the import beneath it.
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

    /// The clocks of the sample, its original and its reversion.
    var clocks: [ChangeClock] { [modified, original?.modified, reversion?.modified].compactMap(\.self) }

    /// The greatest version and clock among the sample, its original and its reversion. A deletion has to reach it.
    package var lastChange: VersionOrder {
        [original?.order, reversion?.order].compactMap(\.self).reduce(order) { max($0, $1) }
    }
}

extension ChangeClock {
    /// The clock of a version whose time of creation is not known.
    package static let unknown = ChangeClock(time: .distantPast, replica: 0)
}
