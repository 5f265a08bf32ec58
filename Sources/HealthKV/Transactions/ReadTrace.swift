import HealthModel

/// What a read touched: types and ranges of time, or anything at all. A read that does not say what it touches, such as
/// one of the queue of a peer, counts as touching everything.
///
/// It belongs to one read and its thread.
final class ReadTrace {
    /// For each type, the range of time that contains all its reads.
    private(set) var ranges: [SampleType: TimeRange] = [:]
    private(set) var isOfEverything = false
    /// Above zero while a read runs that has said what it touches.
    private var depth = 0

    /// Called before anything of the store is read.
    func seesAnything() { if depth == 0 { isOfEverything = true } }

    /// Called by a read that depends on more than samples.
    func seesEverything() { isOfEverything = true }

    /// Runs a read of a type and a range.
    func run<Answer, Failure: Error>(
        _ type: SampleType, _ range: TimeRange, _ read: () throws(Failure) -> Answer
    ) throws(Failure) -> Answer {
        let known = ranges[type] ?? range
        ranges[type] = TimeRange(from: min(known.from, range.from), to: max(known.to, range.to))
        depth += 1
        defer { depth -= 1 }
        return try read()
    }

    /// Runs what a caller does with a part of the answer: it may read other things.
    func outside<Answer, Failure: Error>(_ body: () throws(Failure) -> Answer) throws(Failure) -> Answer {
        let before = depth
        depth = 0
        defer { depth = before }
        return try body()
    }
}

extension Snapshot {
    /// Runs a read that touches only the samples of a type in a range of time.
    func touching<Answer, Failure: Error>(
        _ type: SampleType, _ range: TimeRange = .all, _ read: () throws(Failure) -> Answer
    ) throws(Failure) -> Answer {
        guard let trace else { return try read() }
        return try trace.run(type, range, read)
    }

    /// Runs the caller's part of a read.
    func calling<Answer, Failure: Error>(_ body: () throws(Failure) -> Answer) throws(Failure) -> Answer {
        guard let trace else { return try body() }
        return try trace.outside(body)
    }
}
