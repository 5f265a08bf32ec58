import HealthKV

/// Profile `plain`: three cumulative types, each with irregular gaps of whole seconds, merged by time.
struct PlainRows {
    static let types: [SampleType] = [.stepCount, .distanceWalkingRunning, .activeEnergyBurned]
    private static let units: [HealthUnit] = [.count, .meter, .kilocalorie]
    private static let sources = [Sources.phone, Sources.watch, Sources.pedometer]

    /// The stream of one type's samples.
    private struct Stream {
        var random: SplitMix64
        var remaining: Int
        /// Twice the mean gap, less the shortest one, in seconds.
        let spread: Double
        var time: Int64

        /// Moves to the next start: the gap is uniform from 1 s to twice the mean.
        mutating func advance() { time += 1 + Int64(random.unit() * spread) }
    }

    private var streams: [Stream] = []

    init(samples: Int, seed: UInt64) {
        let start = History.start.nanoseconds / Instant.nanosecondsPerSecond
        for index in 0..<3 {
            let count = samples / 3 + (index < samples % 3 ? 1 : 0)
            let mean = Double(History.days) * 86_400 / Double(max(count, 1))
            var stream = Stream(
                random: SplitMix64(seed: seed, stream: UInt64(index + 1)), remaining: count,
                spread: max(2 * mean - 1, 1), time: start)
            stream.advance()
            streams.append(stream)
        }
    }

    mutating func write(_ count: Int, to writer: inout BatchWriter) {
        var kinds: [Int] = []
        for (type, unit) in zip(PlainRows.types, PlainRows.units) {
            for source in PlainRows.sources { kinds.append(writer.kind(type, unit, source)) }
        }
        for _ in 0..<count {
            let index = earliest()
            let time = streams[index].time
            let source = streams[index].random.below(3)
            let duration = streams[index].random.whole(10...609)
            let value = PlainRows.value(of: index, &streams[index].random)
            writer.append(
                kind: kinds[index * 3 + source], start: time * Instant.nanosecondsPerSecond,
                end: (time + Int64(duration)) * Instant.nanosecondsPerSecond, value: value)
            streams[index].remaining -= 1
            streams[index].advance()
        }
    }

    /// The stream whose next sample starts first.
    private func earliest() -> Int {
        var best = -1
        for index in 0..<3 where streams[index].remaining > 0 {
            if best < 0 || streams[index].time < streams[best].time { best = index }
        }
        return best
    }

    private static func value(of index: Int, _ random: inout SplitMix64) -> Double {
        switch index {
        case 0: Double(random.whole(1...400))
        case 1: Double(random.whole(1...400)) * random.real(0.7...0.8)
        default: Double(random.whole(0...30_000)) / 1000
        }
    }
}
