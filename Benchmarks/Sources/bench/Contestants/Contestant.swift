import Foundation
import HealthKV

/// A store that takes part, with all operations that the works need.
protocol Contestant: AnyObject {
    func close() throws

    /// Imports a batch in one durable commit.
    func importBatch(_ batch: SampleBatch) throws -> ImportCounts
    /// Finishes deferred work of the import, until nothing is stale.
    func finishImport() throws
    /// Does what writes have left for later, such as moving a log into its file.
    func finishWrites() throws
    /// Waits for background work that no measurement includes.
    func settle() throws
    /// Copies the store into a new folder, as compact as possible.
    func compact(to folder: String) throws

    /// Times and values of one type's whole history, in fresh arrays.
    func readAll(_ type: SampleType) throws -> Columns
    /// The sum over one type's whole history, without copying if the store supports it.
    func foldAll(_ type: SampleType) throws -> ColumnSum
    /// Looks ids up in one read transaction; `visit` gets the position and the nanoseconds that each took.
    func lookUp(_ ids: [SampleID], _ visit: (Int, UInt64, Sample?) -> Void) throws
    /// The samples that share an instant with a range, in a read transaction of their own.
    func range(_ type: SampleType, from: Instant, to: Instant) throws -> [Sample]
    /// Reads only the first of them.
    func firstInRange(_ type: SampleType, from: Instant, to: Instant) throws -> Sample?
    func latest(_ type: SampleType) throws -> Sample?
    func count() throws -> Int

    /// Saves a new sample durably, with a pending operation for a peer.
    func save(_ sample: Sample) throws
    /// Gives a sample another value, durably.
    func edit(_ id: SampleID, value: Double) throws
    func delete(_ id: SampleID) throws -> Bool
    /// Throws unless the store is sound.
    func check() throws

    // The following operations are optional.

    /// Like `lookUp`, by sync identifiers. Returns `false` if the contestant does not support it.
    func lookUp(syncIdentifiers: [String], _ visit: (Int, UInt64, Sample?) -> Void) throws -> Bool
    /// The sum of each day over the samples that start in it.
    func daySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums?
    /// The same with overlapping sources merged, and with each sample divided among the days that it touches.
    func mergedDaySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums?
    /// A type's history reduced to points.
    func seriesPoints(_ type: SampleType, _ points: PointAxis) throws -> [SeriesPoint]?
    /// Saves samples from 64 writers at once, each durable before its writer continues. Returns `false` if unsupported.
    func save(_ samples: [Sample], from writers: Writers) throws -> Bool

    /// Whether statistics come from maintained rows or summaries instead of samples.
    var keepsSummaries: Bool { get }
    /// The nanoseconds of the last call by the contestant's own clock, if it runs in another process.
    var ownTime: UInt64? { get }
    /// The process that does the work.
    var processID: Int32 { get }
}

extension Contestant {
    func finishWrites() throws { try finishImport() }
    func settle() throws {}
    func lookUp(syncIdentifiers: [String], _ visit: (Int, UInt64, Sample?) -> Void) throws -> Bool { false }
    func daySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums? { nil }
    func mergedDaySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums? { nil }
    func seriesPoints(_ type: SampleType, _ points: PointAxis) throws -> [SeriesPoint]? { nil }
    func save(_ samples: [Sample], from writers: Writers) throws -> Bool { false }
    var keepsSummaries: Bool { false }
    var ownTime: UInt64? { nil }
    var processID: Int32 { getpid() }

    /// Runs `body` and returns its nanoseconds and its result.
    @inline(__always)
    func timed<R>(_ body: () throws -> R) rethrows -> (nanoseconds: UInt64, answer: R) {
        let from = Stopwatch.now()
        let answer = try body()
        let time = Stopwatch.now() - from
        return (ownTime ?? time, answer)
    }
}

/// The kind of 64 concurrent writers: one thread for each, or tasks that share the threads of the machine.
enum Writers {
    case threads
    case tasks
    static let count = 64
}

/// The counts of an import's outcomes.
struct ImportCounts: Equatable {
    var inserted = 0
    var replaced = 0
    var unchanged = 0

    static func += (sum: inout ImportCounts, more: ImportCounts) {
        sum.inserted += more.inserted
        sum.replaced += more.replaced
        sum.unchanged += more.unchanged
    }
}

/// Two columns of one type's history.
struct Columns {
    var times: [Int64]
    var values: [Double]
}

/// The sums of a fold: so cheap that memory dominates, and dependent on every bit.
struct ColumnSum: Equatable {
    var times: UInt64 = 0
    var values: UInt64 = 0
    var count = 0

    @inline(__always)
    mutating func add(_ time: Int64, _ valueBits: UInt64) {
        times &+= UInt64(bitPattern: time)
        values &+= valueBits
        count += 1
    }

    @inline(__always)
    mutating func add(_ moreTimes: UnsafeBufferPointer<Int64>, _ moreValues: UnsafeBufferPointer<Double>) {
        // SAFETY: both buffers have the count of the first; the caller keeps them alive.
        var (timeSum, valueSum) = (UInt64(0), UInt64(0))
        for index in moreTimes.indices {
            unsafe timeSum &+= UInt64(bitPattern: moreTimes[index])
            unsafe valueSum &+= moreValues[index].bitPattern
        }
        times &+= timeSum
        values &+= valueSum
        count += moreTimes.count
    }
}
