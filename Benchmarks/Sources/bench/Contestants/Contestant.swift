import Foundation
import HealthKV

/// A store that takes part: everything that the works ask of it.
protocol Contestant: AnyObject {
    func close() throws

    /// Imports a batch in one durable commit.
    func importBatch(_ batch: SampleBatch) throws -> ImportCounts
    /// Does what importing left for later, until nothing is stale.
    func finishImport() throws
    /// Waits for work in the background that no clock counts.
    func settle() throws
    /// Copies the store into a new folder, as small as it can be made.
    func compact(to folder: String) throws

    /// Times and values of one type's whole history, in fresh arrays.
    func readAll(_ type: SampleType) throws -> Columns
    /// The sum over one type's whole history, without a copy where the store can.
    func foldAll(_ type: SampleType) throws -> ColumnSum
    /// Looks ids up in one read transaction; `visit` gets the position and the nanoseconds that each took.
    func lookUp(_ ids: [SampleID], _ visit: (Int, UInt64, Sample?) -> Void) throws
    /// The samples that share an instant with a range, in a read transaction of their own.
    func range(_ type: SampleType, from: Instant, to: Instant) throws -> [Sample]
    /// The first of them, without the others.
    func firstInRange(_ type: SampleType, from: Instant, to: Instant) throws -> Sample?
    func latest(_ type: SampleType) throws -> Sample?
    func count() throws -> Int

    /// Saves a new sample durably, with an operation that waits for a peer.
    func save(_ sample: Sample) throws
    /// Gives a sample another value, durably.
    func edit(_ id: SampleID, value: Double) throws
    func delete(_ id: SampleID) throws -> Bool
    /// Fails unless the store proves sound.
    func check() throws

    // What follows is asked of who can; the others leave it as it is.

    /// As `lookUp`, by sync identifiers. False: this contestant cannot.
    func lookUp(syncIdentifiers: [String], _ visit: (Int, UInt64, Sample?) -> Void) throws -> Bool
    /// The sum of each day over the samples that start in it.
    func daySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums?
    /// The same where of two sources that counted at the same time one is left out, and a sample is shared between the
    /// days it touches.
    func mergedDaySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums?
    /// A type's history reduced to points.
    func seriesPoints(_ type: SampleType, _ points: PointAxis) throws -> [SeriesPoint]?
    /// Saves samples from 64 writers at once, each durable before its writer goes on. False: this contestant cannot.
    func save(_ samples: [Sample], from writers: Writers) throws -> Bool

    /// Whether statistics come from rows or summaries that were kept, not from samples.
    var keepsSummaries: Bool { get }
    /// The nanoseconds that the last call took by a clock of the contestant's own, if it answers from another process.
    var ownTime: UInt64? { get }
    /// The process that does the work.
    var processID: Int32 { get }
}

extension Contestant {
    func settle() throws {}
    func lookUp(syncIdentifiers: [String], _ visit: (Int, UInt64, Sample?) -> Void) throws -> Bool { false }
    func daySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums? { nil }
    func mergedDaySums(_ type: SampleType, _ days: DayAxis) throws -> DaySums? { nil }
    func seriesPoints(_ type: SampleType, _ points: PointAxis) throws -> [SeriesPoint]? { nil }
    func save(_ samples: [Sample], from writers: Writers) throws -> Bool { false }
    var keepsSummaries: Bool { false }
    var ownTime: UInt64? { nil }
    var processID: Int32 { getpid() }

    /// The nanoseconds that `body` took, and its answer.
    @inline(__always)
    func timed<R>(_ body: () throws -> R) rethrows -> (nanoseconds: UInt64, answer: R) {
        let from = Stopwatch.now()
        let answer = try body()
        let time = Stopwatch.now() - from
        return (ownTime ?? time, answer)
    }
}

/// How 64 writers run: each on a thread of its own, or as tasks that share the threads of the machine.
enum Writers {
    case threads
    case tasks
    static let count = 64
}

/// What an import did.
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

/// What a fold adds up: cheap enough that memory is what counts, and dependent on every bit.
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
