import HealthKV
import Histories

extension Session {
    /// 64 writers that each wait for the disk, beside one writer: appended samples, then samples at random dates.
    func measureManyWriters() throws {
        note("durable_write_64")
        let work = Work.durableWrite64.rawValue
        let count = max(Writers.count, min(settings.writes, settings.samples / 10) / Writers.count * Writers.count)
        let begin = History.end + 10 * History.day
        var clock: Int64 = 0
        func appended(_ count: Int) -> [Sample] {
            (0..<count).map { index in
                clock += 10 * Instant.nanosecondsPerSecond
                return made(index, at: begin + clock)
            }
        }
        let one = appended(max(count / 20, 10))
        let single = try Stopwatch.seconds { for sample in one { try store.save(sample) } }.seconds
        var written = one
        var rates: [(String, Double)] = [(work + ".one", Double(one.count) / single)]
        for (writers, suffix) in [(Writers.tasks, ""), (.threads, ".threads")] {
            let samples = appended(count)
            let (seconds, canDo) = try Stopwatch.seconds { try store.save(samples, from: writers) }
            if !canDo { continue }
            rates.append((work + suffix, Double(count) / seconds))
            written += samples
        }
        if name == .healthKV {
            var random = SplitMix64(seed: settings.seed, stream: 63)
            let samples = (0..<count).map { index in
                let day = random.whole(history.dayRange.lowerBound...history.dayRange.upperBound - 1)
                return made(index, at: History.start + Int64(day) * History.day + Int64(random.below(Int(History.day))))
            }
            let seconds = try Stopwatch.seconds { _ = try store.save(samples, from: .tasks) }.seconds
            rates.append((work + ".random", Double(count) / seconds))
            written += samples
        }
        // Whoever cannot write from many threads has nothing to compare.
        guard rates.count > 1 else { return }
        var missing = 0
        try store.lookUp(written.map(\.id)) { _, _, sample in missing += sample == nil ? 1 : 0 }
        if missing > 0 { throw BenchFailure("durable_write_64: \(missing) samples are missing") }
        for (name, rate) in rates { try send(name, rate, .writesPerSecond) }
    }

    private func made(_ index: Int, at start: Instant) -> Sample {
        let type = history.types[index % history.types.count]
        return Sample(type, Double(index % 300), type.canonicalUnit!, from: start, to: start + 5_000_000_000)
    }
}
