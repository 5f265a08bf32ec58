import HealthKVSync

// The samples that the rules use.
extension PeerTrial {
    static let source = Source(bundle: "com.example.app", name: "app")

    static func time(_ hour: Int) -> Instant {
        Instant(nanoseconds: 790_000_000_000_000_000 + Int64(hour) * 3_600 * Instant.nanosecondsPerSecond)
    }

    /// Returns a sample of this app.
    static func weight(
        _ value: Double, hour: Int, version: Int64 = 1, id: SampleID = SampleID(), type: SampleType = .bodyMass
    ) -> Sample {
        let time = time(hour)
        let isWeight = type == .bodyMass
        var sample = Sample(
            type, value, isWeight ? .kilogram : .count, from: time,
            to: isWeight ? time : time + 600 * Instant.nanosecondsPerSecond, source: source, id: id,
            syncIdentifier: id.description, version: version)
        sample.modified = ChangeClock(time: time + version, replica: 1)
        return sample
    }

    /// Returns steps of this app.
    static func steps(_ value: Double, hour: Int, id: SampleID = SampleID()) -> Sample {
        weight(value, hour: hour, id: id, type: .stepCount)
    }

    /// Returns a sample that another app writes.
    static func foreign(_ value: Double, hour: Int, type: SampleType = .bodyMass) -> Sample {
        var sample = weight(value, hour: hour, type: type)
        sample.source = Source(bundle: "com.example.scale", name: "Scale")
        sample.syncIdentifier = nil
        sample.origin = .imported
        return sample
    }

    static func deletion(of sample: Sample) -> PushOperation.Kind {
        let clock = sample.modified ?? ChangeClock(time: sample.start, replica: 1)
        return .delete(
            DeletedSample(
                id: sample.id, type: sample.type, source: sample.source.identity,
                syncIdentifier: sample.syncIdentifier, version: sample.version,
                modified: ChangeClock(time: clock.time + 1, replica: clock.replica), start: sample.start,
                end: sample.end))
    }
}

extension Sample {
    /// Returns `true` if type and time are the same. A database may keep only milliseconds.
    func isSameTimeAndType(as other: Sample) -> Bool {
        type == other.type && abs(start.nanoseconds - other.start.nanoseconds) < 1_000_000
            && abs(end.nanoseconds - other.end.nanoseconds) < 1_000_000
    }

    /// Returns `true` if the value is the same, in any unit.
    func isSameValue(as other: Sample) -> Bool {
        guard let unit = other.type.canonicalUnit, let mine = try? quantity.value(in: unit),
            let theirs = try? other.quantity.value(in: unit)
        else { return false }
        return abs(mine - theirs) <= 1e-9 * abs(theirs)
    }
}

extension PushOutcome {
    var isDone: Bool { if case .done = self { true } else { false } }

    var reason: String? {
        switch self {
        case .refused(let reason), .failed(let reason), .unknown(let reason): reason
        case .done, .superseded, .parked, .busy: nil
        }
    }
}
