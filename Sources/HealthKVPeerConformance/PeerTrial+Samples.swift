import HealthKVSync

// The samples that are tried.
extension PeerTrial {
    static let source = Source(bundle: "com.example.app", name: "app")

    static func time(_ hour: Int) -> Instant {
        Instant(nanoseconds: 790_000_000_000_000_000 + Int64(hour) * 3_600 * Instant.nanosecondsPerSecond)
    }

    /// A sample of this app.
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

    /// Steps of this app.
    static func steps(_ value: Double, hour: Int, id: SampleID = SampleID()) -> Sample {
        weight(value, hour: hour, id: id, type: .stepCount)
    }

    /// A sample that somebody else writes.
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
                modified: ChangeClock(time: clock.time + 1, replica: clock.replica)))
    }
}

extension Sample {
    /// Whether a peer has it at its time; a database may keep milliseconds only.
    func isSameTimeAndType(as other: Sample) -> Bool {
        type == other.type && abs(start.nanoseconds - other.start.nanoseconds) < 1_000_000
            && abs(end.nanoseconds - other.end.nanoseconds) < 1_000_000
    }

    /// Whether a peer has its value, in whatever unit.
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
