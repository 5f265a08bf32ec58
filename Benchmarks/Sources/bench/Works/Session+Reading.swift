import HealthKV
import Histories

extension Session {
    /// Reads each type's whole history into fresh arrays.
    ///
    /// The figure would depend on the state of malloc, so this sets it: all arrays fresh from the system, or all from
    /// memory that was used before.
    func measureReadAll(_ work: Work, _ read: (SampleType) throws -> Columns) throws {
        note(work.rawValue)
        let isTold = MallocSetting.set(work == .readAll ? .freshPages : .recycledPages)
        // Other systems have no such setting, and only one figure.
        if !isTold && work == .readAllRecycled { return }
        defer { _ = MallocSetting.set(.usual) }
        var digest = Digest()
        var times = TypeTimes()
        for type in history.types {
            // The first read is for warming up and comparison.
            let first = try read(type)
            try digest.add(first)
            while times.wantsMore(type, settings) {
                let (seconds, columns) = try seconds { try read(type) }
                guard columns.times.count == first.times.count else { throw BenchFailure("read_all: answers differ") }
                times.add(seconds, type, columns.times.count)
            }
        }
        try send(work.rawValue, digest)
        try send(work.rawValue, times)
    }

    /// Sums each type's whole history.
    func measureFoldAll(_ fold: (SampleType) throws -> ColumnSum) throws {
        note("fold_all")
        var digest = Digest()
        var times = TypeTimes()
        for type in history.types {
            let first = try fold(type)
            digest.add(first)
            while times.wantsMore(type, settings) {
                let (seconds, sum) = try seconds { try fold(type) }
                guard sum == first else { throw BenchFailure("fold_all: answers differ") }
                times.add(seconds, type, sum.count)
            }
        }
        try send(Work.foldAll.rawValue, digest)
        try send(Work.foldAll.rawValue, times)
    }

    /// The seconds of a call, by the contestant's own clock if it has one.
    private func seconds<R>(_ body: () throws -> R) rethrows -> (seconds: Double, answer: R) {
        if name == .memcpy { return try Stopwatch.seconds(body) }
        let (time, answer) = try store.timed(body)
        return (Double(time) / 1e9, answer)
    }

    /// Reads the samples of some days at random dates: all, and the first only.
    func measureRanges(_ work: Work, days: Int, count: Int) throws {
        note(work.rawValue)
        var random = SplitMix64(seed: settings.seed, stream: UInt64(50 + days))
        let dates = history.dayRange.lowerBound...max(history.dayRange.lowerBound, history.dayRange.upperBound - days)
        var digest = Digest()
        var (whole, first) = (Latencies(), Latencies())
        let began = Stopwatch.now()
        var isWhole = true
        for query in 0..<count + count / 10 {
            // Slow contestants answer only the first questions, and only these are compared for all.
            if query == count / 4 {
                try send("\(work.rawValue)#\(query)", digest)
                isWhole = Double(Stopwatch.now() - began) / 1e9 < settings.budget / 8
                if !isWhole { break }
            }
            let type = history.types[random.below(history.types.count)]
            let from = History.start + Int64(random.whole(dates)) * History.day
            let to = from + Int64(days) * History.day
            let (firstTime, head) = try store.timed { try store.firstInRange(type, from: from, to: to) }
            let (wholeTime, samples) = try store.timed { try store.range(type, from: from, to: to) }
            guard head?.start == samples.first?.start else { throw BenchFailure("\(work.rawValue): the first differs") }
            // The first tenth is for warming up.
            if query >= count / 10 {
                first.add(firstTime)
                whole.add(wholeTime)
            }
            for sample in samples { digest.add(briefly: sample) }
        }
        if isWhole { try send(work.rawValue, digest) }
        try send(work.rawValue, whole)
        try send(work.rawValue + ".first", first)
    }

    func measureLatest() throws {
        note("latest")
        var digest = Digest()
        var latencies = Latencies()
        // If each read takes milliseconds, a few suffice.
        for round in 0..<(name == .duckDB ? 200 : 1_000) {
            let type = history.types[round % history.types.count]
            let (time, sample) = try store.timed { try store.latest(type) }
            latencies.add(time)
            if round < 200 { digest.add(UInt64(bitPattern: sample?.start.nanoseconds ?? 0)) }
        }
        try send(Work.latest.rawValue, digest)
        try send(Work.latest.rawValue, latencies)
    }

    /// The limit of both: copies of the same columns.
    func measureCopies() throws {
        guard wants(.readAll) || wants(.readAllRecycled) || wants(.foldAll) else { return }
        let copies = MemoryCopy(history)
        if wants(.readAll) { try measureReadAll(.readAll) { copies.readAll($0) } }
        if wants(.foldAll) { try measureFoldAll(copies) }
        if wants(.readAllRecycled) { try measureReadAll(.readAllRecycled) { copies.readAll($0) } }
    }

    private func measureFoldAll(_ copies: MemoryCopy) throws {
        note("fold_all")
        var digest = Digest()
        var times = TypeTimes()
        for type in history.types {
            let sum = copies.sum(type)
            digest.add(sum)
            var last = copies.copyThroughCache(type)
            while times.wantsMore(type, settings) {
                let (seconds, answer) = Stopwatch.seconds { copies.copyThroughCache(type) }
                if answer != last { throw BenchFailure("memcpy: answers differ") }
                last = answer
                times.add(seconds, type, sum.count)
            }
        }
        try send(Work.foldAll.rawValue, digest)
        try send(Work.foldAll.rawValue, times)
    }

    /// Reports the rate over all types, and each type's own.
    private func send(_ work: String, _ times: TypeTimes) throws {
        let rates = times.rates
        let least = history.types.map { times.rates(of: $0).count }.min()
        try send(work, rates.median, .perSecond, runs: [rates.low, rates.high]) { $0.runs = least }
        for type in history.types {
            let runs = times.rates(of: type)
            try send("\(work).\(type.shortName)", runs.median, .perSecond, runs: runs)
        }
    }
}

/// The seconds of several runs, by type.
private struct TypeTimes {
    private var seconds: [SampleType: [Double]] = [:]
    private var counts: [SampleType: Int] = [:]

    mutating func add(_ time: Double, _ type: SampleType, _ count: Int) {
        seconds[type, default: []].append(time)
        counts[type] = count
    }

    /// At least five runs of a type, or as many as a part of the budget allows.
    func wantsMore(_ type: SampleType, _ settings: Settings) -> Bool {
        guard let done = seconds[type] else { return true }
        return done.count < max(5, settings.runs) && done.reduce(0, +) < settings.budget / 4
    }

    func rates(of type: SampleType) -> [Double] { seconds[type]!.map { Double(counts[type]!) / max($0, 1e-9) } }

    /// Samples per second over all types: each type's median, fastest and slowest run.
    var rates: (median: Double, low: Double, high: Double) {
        let total = Double(counts.values.reduce(0, +))
        func rate(_ pick: ([Double]) -> Double) -> Double {
            total / max(seconds.values.reduce(0) { $0 + pick($1) }, 1e-9)
        }
        return (rate(\.median), rate { $0.max()! }, rate { $0.min()! })
    }
}
