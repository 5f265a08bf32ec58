import HealthKV

/// A sample as the tool prints it.
struct SampleRecord: JSONRecord {
    /// How much is told, and in which form.
    enum Detail {
        /// What people read: the source by its name, dates in a zone.
        case listed(Zone, HealthUnit?)
        /// The same, and all the rest.
        case full(Zone)
        /// Everything, in the form that `load` reads back: dates in UTC, the source whole.
        case lossless
    }

    let sample: Sample
    let detail: Detail

    /// Every field that ``Detail/listed(_:_:)`` may give; the order of columns.
    static let columns = [
        "id", "type", "start", "end", "value", "unit", "source", "syncIdentifier", "syncVersion", "modified", "origin",
        "userEntered", "shadowed", "count", "device", "metadata", "group", "timeZone", "local", "workout", "original",
        "reversion", "case",
    ]

    func write(to sink: inout some JSONSink) {
        sink.beginObject()
        writeFields(to: &sink)
        sink.endObject()
    }

    /// The fields without the braces, so that others may add theirs.
    func writeFields(to sink: inout some JSONSink) {
        sink.key(.id)
        sink.id(sample.id)
        sink.key(.type)
        sink.string(sample.type.identifier)
        sink.key(.start)
        sink.instant(sample.start, in: zone)
        sink.key(.end)
        sink.instant(sample.end, in: zone)
        let quantity = quantity
        sink.key(.value)
        sink.double(quantity.value)
        sink.key(.unit)
        sink.string(quantity.unit.symbol)
        if !isLossless { sink.field("case", optional: sample.categoryCase?.name) }
        writeSource(to: &sink)
        if let identifier = sample.syncIdentifier {
            sink.key(.syncIdentifier)
            sink.string(identifier)
        }
        if sample.version > 1 || sample.syncIdentifier != nil {
            sink.key(.syncVersion)
            sink.integer(sample.version)
        }
        if let modified = sample.modified {
            sink.key(.modified)
            sink.instant(modified.time, in: zone)
            if !isListed {
                sink.key(.replica)
                sink.integer(Int64(modified.replica))
            }
        }
        writeRareFields(to: &sink)
    }

    /// What most samples have as everybody expects it; that is left out.
    private func writeRareFields(to sink: inout some JSONSink) {
        if sample.origin == .authored { sink.field("origin", sample.origin.rawValue) }
        if sample.isUserEntered { sink.field("userEntered", true) }
        if sample.isShadowed, !isLossless { sink.field("shadowed", true) }
        if sample.count != 1 { sink.field("count", Int64(sample.count)) }
        if sample.multiplicity != 0, !isListed { sink.field("multiplicity", Int64(sample.multiplicity)) }
        if let device = sample.device { SampleRecord.write(device, to: &sink) }
        if !sample.metadata.isEmpty { write(sample.metadata, "metadata", to: &sink) }
        sink.field("group", optional: sample.group)
        sink.field("timeZone", optional: sample.timeZone)
        if !sample.local.isEmpty { write(sample.local, "local", to: &sink) }
        if let workout = sample.workout {
            sink.key("workout")
            WorkoutRecord(workout: workout, zone: zone).write(to: &sink)
        }
        // A list shows how many points there are: the value.
        if let route = sample.route, !isListed { write(route, to: &sink) }
        if let original = sample.original { write(original, to: &sink) }
        if let reversion = sample.reversion { write(reversion, to: &sink) }
    }

    private func write(_ route: WorkoutRoute, to sink: inout some JSONSink) {
        sink.key("route")
        sink.beginArray()
        for point in route.points {
            sink.beginArray()
            sink.instant(point.time, in: zone)
            for number in point.measured { if let number { sink.double(number) } else { sink.null() } }
            sink.endArray()
        }
        sink.endArray()
    }

    private var zone: Zone {
        switch detail {
        case .listed(let zone, _), .full(let zone): zone
        case .lossless: .utc
        }
    }

    private var isListed: Bool { if case .listed = detail { true } else { false } }
    private var isLossless: Bool { if case .lossless = detail { true } else { false } }

    /// Value and unit; converted where that was asked for, which the verb has seen to be possible.
    private var quantity: Quantity {
        if case .listed(_, let unit?) = detail, let value = try? sample.value(in: unit) { return Quantity(value, unit) }
        return sample.quantity
    }

    private func writeSource(to sink: inout some JSONSink) {
        sink.key(.source)
        if isLossless { return sink.source(sample.source) }
        sink.string(sample.source.name)
        guard !isListed else { return }
        sink.key("sourceRevision")
        sink.beginObject()
        sink.revision(of: sample.source)
        sink.endObject()
    }

    static func write(_ device: Device, to sink: inout some JSONSink) {
        sink.key("device")
        sink.beginObject()
        for (name, text) in zip(DeviceFields.names, device.fields) { sink.field(name, optional: text) }
        sink.endObject()
    }

    private func write(_ metadata: [String: MetadataValue], _ name: String, to sink: inout some JSONSink) {
        sink.key(name)
        sink.metadata(metadata, in: zone)
    }

    private func write(_ original: Sample.Original, to sink: inout some JSONSink) {
        sink.key("original")
        sink.beginObject()
        sink.field("start", original.start, in: zone)
        sink.field("end", original.end, in: zone)
        sink.key(.value)
        sink.double(original.quantity.value)
        sink.field("unit", original.quantity.unit.symbol)
        if original.isUserEntered { sink.field("userEntered", true) }
        if !original.metadata.isEmpty { write(original.metadata, "metadata", to: &sink) }
        if original.version != 1 { sink.field("syncVersion", original.version) }
        if let clock = original.modified { write(clock, to: &sink) }
        sink.endObject()
    }

    private func write(_ reversion: Sample.Reversion, to sink: inout some JSONSink) {
        sink.key("reversion")
        sink.beginObject()
        sink.field("syncVersion", reversion.version)
        write(reversion.modified, to: &sink)
        sink.endObject()
    }

    private func write(_ clock: ChangeClock, to sink: inout some JSONSink) {
        sink.field("modified", clock.time, in: zone)
        sink.field("replica", Int64(clock.replica))
    }
}

/// The fields of a device, in the order of ``Device/fields``.
enum DeviceFields {
    static let names = [
        "name", "manufacturer", "model", "hardwareVersion", "firmwareVersion", "softwareVersion", "localIdentifier",
        "udiDeviceIdentifier",
    ]
}
