import HealthKV

/// A store that takes part: everything that the works ask of it.
protocol Contestant: AnyObject {
    /// Opens the store of a folder, made if there is none. Without ids, identity is derived from content.
    init(folder: String, hasIDs: Bool) throws
    func close() throws

    /// Imports a batch in one durable commit.
    func importBatch(_ batch: SampleBatch) throws -> ImportCounts
    /// Does what importing left for later, until nothing is stale.
    func finishImport() throws
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

/// Who takes part, by the names that the command line and the results use.
enum ContestantName: String, CaseIterable, Codable {
    case healthKV = "HealthKV"
    case rows = "LMDB-rows"
    case memcpy

    /// Opens this contestant's store; `nil` for the one that has none.
    func open(folder: String, hasIDs: Bool) throws -> (any Contestant)? {
        switch self {
        case .healthKV: try HealthKVStore(folder: folder, hasIDs: hasIDs)
        case .rows: try LMDBRows(folder: folder, hasIDs: hasIDs)
        case .memcpy: nil
        }
    }
}
