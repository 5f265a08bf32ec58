import HealthKV

/// Profile `weight`: one weight in each slot of the ten years (a day, at the usual number), with one slot in ten empty.
struct WeightRows {
    private var random: SplitMix64
    private let slot: Int64
    private var index: Int64 = 0
    private var kilograms = 84.0

    init(samples: Int, seed: UInt64) {
        random = SplitMix64(seed: seed, stream: 11)
        // A tenth of the slots stays empty, so the slots are shorter by that share, but at least a second long.
        let seconds = Int64(Double(History.days) * 86_400 * 0.9 / Double(max(samples, 1)))
        slot = min(max(seconds, 1), 86_400)
    }

    mutating func write(_ count: Int, to writer: inout BatchWriter) {
        let scale = writer.kind(.bodyMass, .kilogram, Sources.scale)
        let diary = writer.kind(.bodyMass, .kilogram, Sources.diary, origin: .authored, isUserEntered: true)
        let pounds = writer.kind(.bodyMass, .pound, Sources.diary, origin: .authored, isUserEntered: true)
        for _ in 0..<count {
            while random.chance(0.1) { index += 1 }
            let offset = slot >= 86_400 ? Int64(random.whole(6 * 3600...9 * 3600)) : Int64(random.below(Int(slot)))
            let start = History.start.nanoseconds + (index * slot + offset) * Instant.nanosecondsPerSecond
            index += 1
            kilograms += (78 - kilograms) * 0.002 + random.bell() * 0.15
            let shown = kilograms + random.bell() * 0.3
            switch random.below(10) {
            case 0, 1:
                let value = (shown / 0.45359237 * 10).rounded() / 10
                writer.append(kind: pounds, start: start, end: start, value: value)
                writer.setExtras(syncExtras())
            case 2, 3, 4:
                writer.append(kind: diary, start: start, end: start, value: (shown * 10).rounded() / 10)
                writer.setExtras(syncExtras())
            default:
                writer.append(kind: scale, start: start, end: start, value: (shown * 20).rounded() / 20)
            }
        }
    }

    private mutating func syncExtras() -> SampleBatch.Extras {
        var extras = SampleBatch.Extras()
        extras.syncIdentifier = SampleID(using: &random).description
        extras.version = 1
        return extras
    }
}
