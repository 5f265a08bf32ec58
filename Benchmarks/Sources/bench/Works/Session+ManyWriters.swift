import HealthKV
import Histories

extension Session {
    /// 64 writers that each wait for the disk, compared with one writer: appended samples, then samples at random
    /// dates.
    func measureManyWriters() throws {
        note("durable_write_64")
        // Finish background work of earlier works, which would slow the writers down.
        try store.finishImport()
        try store.settle()
        let before = try store.count()
        let work = Work.durableWrite64.rawValue
        let wanted = min(settings.writes, settings.samples / 10)
        let begin = History.end + 10 * History.day
        var clock: Int64 = 0
        func appended(_ count: Int) -> [Sample] {
            (0..<count).map { index in
                clock += 10 * Instant.nanosecondsPerSecond
                return made(index, at: begin + clock)
            }
        }
        let one = appended(max(wanted / 20, 10))
        var single = 0.0
        for sample in one { single += Double(try store.timed { try store.save(sample) }.nanoseconds) / 1e9 }
        var written = one
        let rate = Double(one.count) / single
        var rates: [(String, Double)] = [(work + ".one", rate)]
        // Contestants with slow single writes write fewer samples.
        let most = name == .healthKV ? wanted : min(wanted, Int(rate * settings.budget / 4))
        let count = max(Writers.count, most / Writers.count * Writers.count)
        var able: [Writers] = []
        for (writers, suffix) in [(Writers.tasks, ""), (.threads, ".threads")] {
            let samples = appended(count)
            let (time, canDo) = try store.timed { try store.save(samples, from: writers) }
            if !canDo { continue }
            able.append(writers)
            rates.append((work + suffix, Double(count) / (Double(time) / 1e9)))
            written += samples
        }
        if let writers = able.first {
            var random = SplitMix64(seed: settings.seed, stream: 63)
            let samples = (0..<count).map { index in
                let day = random.whole(history.dayRange.lowerBound...history.dayRange.upperBound - 1)
                return made(index, at: History.start + Int64(day) * History.day + Int64(random.below(Int(History.day))))
            }
            let time = try store.timed { _ = try store.save(samples, from: writers) }.nanoseconds
            rates.append((work + ".random", Double(count) / (Double(time) / 1e9)))
            written += samples
        }
        var missing = 0
        try store.lookUp(written.suffix(checked).map(\.id)) { _, _, sample in missing += sample == nil ? 1 : 0 }
        if try missing > 0 || store.count() != before + written.count {
            throw BenchFailure("durable_write_64: \(missing) samples are missing")
        }
        for (work, rate) in rates {
            try send(work, rate, .writesPerSecond) { $0.runs = work.hasSuffix(".one") ? one.count : count }
        }
    }

    /// Appending writes until all that they left for later is done: of 64 threads, and of one.
    func measureFolded() throws {
        note("write_folded")
        let before = try store.count()
        let work = Work.writeFolded.rawValue
        let wanted = min(settings.writes, settings.samples / 10)
        let begin = History.end + 400 * History.day
        var written = 0
        func appended(_ count: Int) -> [Sample] {
            defer { written += count }
            return (written..<written + count).map {
                made($0, at: begin + Int64($0) * 10 * Instant.nanosecondsPerSecond)
            }
        }
        /// Waits for earlier works.
        func settled() throws {
            try store.finishImport()
            try store.settle()
        }
        func finish() throws -> Double { Double(try store.timed { try store.finishWrites() }.nanoseconds) / 1e9 }
        let one = appended(max(wanted / 10, 10))
        try settled()
        var (seconds, asked) = (0.0, 0)
        for sample in one where seconds < settings.budget / 4 {
            seconds += Double(try store.timed { try store.save(sample) }.nanoseconds) / 1e9
            asked += 1
        }
        seconds += try finish()
        let rate = Double(asked) / seconds
        try send(work + ".one", rate, .writesPerSecond) { $0.runs = asked }
        let most = name == .healthKV ? wanted : min(wanted, Int(rate * settings.budget / 4))
        let samples = appended(max(Writers.count, most / Writers.count * Writers.count))
        try settled()
        let (time, canDo) = try store.timed { try store.save(samples, from: .threads) }
        let whole = Double(time) / 1e9 + (try finish())
        if canDo { try send(work, Double(samples.count) / whole, .writesPerSecond) { $0.runs = samples.count } }
        guard try store.count() == before + asked + (canDo ? samples.count : 0) else {
            throw BenchFailure("\(work): samples are missing")
        }
    }

    private func made(_ index: Int, at start: Instant) -> Sample {
        let type = history.types[index % history.types.count]
        return Sample(type, Double(index % 300), type.canonicalUnit!, from: start, to: start + 5_000_000_000)
    }
}
