import ColumnFormat
import HealthModel

extension RareFields.Content {
    /// Creates the rare fields of a sample, except its sync identifier.
    init(_ sample: Sample) {
        self.init()
        group = sample.group
        metadata = MetadataCoding.encode(sample.metadata)
        guard sample.hasRareFields else { return }
        local = MetadataCoding.encode(sample.local)
        timeZone = sample.timeZone
        payload = PayloadCoding.encode(sample.workout, sample.route)
        original = OriginalCoding.encode(sample.original)
        reversion = ReversionCoding.encode(sample.reversion)
    }

    init(_ extras: SampleBatch.Extras) {
        self.init()
        group = extras.group
        metadata = MetadataCoding.encode(extras.metadata)
        local = MetadataCoding.encode(extras.local)
        timeZone = extras.timeZone
        payload = PayloadCoding.encode(extras.workout, extras.route)
        original = OriginalCoding.encode(extras.original)
        reversion = ReversionCoding.encode(extras.reversion)
    }

    /// Sets the rare fields of a sample.
    func set(_ sample: inout Sample) throws(FormatError) {
        sample.group = group
        if let metadata { sample.metadata = try MetadataCoding.decode(metadata) }
        if let local { sample.local = try MetadataCoding.decode(local) }
        if let timeZone { sample.timeZone = timeZone }
        if let payload { try PayloadCoding.decode(payload, into: &sample) }
        if let original { sample.original = try OriginalCoding.decode(original) }
        if let reversion { sample.reversion = try ReversionCoding.decode(reversion) }
    }
}
