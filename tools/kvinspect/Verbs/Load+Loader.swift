import Dispatch
import HealthKV
import Synchronization

/// Reads lines and stores them batch by batch: while one batch is stored the next one is read.
struct Loader {
    /// Lines that one durable commit takes: many enough to be fast, few enough to be held twice.
    static let batchRows = 32_768
    /// Bad lines that are named one by one.
    private static let namedLines = 20

    private let store: SampleStore
    private let writer: BatchWriter
    private let zone: Zone
    private var input: InputLines
    private var reader: LineReader
    private var batch = SampleBatch()

    /// The orders of sources that the lines brought.
    private var priorities: [SampleType: [RankedSource]] = [:]
    /// How many lines were left out, and the first of them.
    private(set) var bad = 0
    private(set) var named: [(line: Int, reason: String)] = []

    init(store: SampleStore, input: InputPieces, zone: Zone) {
        self.store = store
        writer = BatchWriter(store)
        self.zone = zone
        self.input = InputLines(input)
        reader = LineReader(zone: zone)
    }

    var lines: Int { input.number }

    /// Stores all lines. When it throws, everything before the last whole batch is stored and nothing is under way.
    mutating func loadAll(skipBad: Bool, _ progress: Progress) throws -> ImportReport {
        do {
            while try loadBatch(skipBad: skipBad) { try progress.advance(to: input.bytesRead) }
            let report = try writer.finish()
            try finish()
            return report
        } catch let error as JSONError {
            let stored = try writer.finish().inserted
            throw Failure(
                "Line \(input.number): \(error.reason). Nothing of its batch was stored; \(stored) samples of earlier "
                    + "ones were inserted. Correct the line, or pass --skip-bad.")
        } catch {
            _ = try writer.finish()
            throw error
        }
    }

    /// Reads the next batch and hands it over; `false` when there was none.
    private mutating func loadBatch(skipBad: Bool) throws -> Bool {
        if reader.isFull(batch) {
            reader = LineReader(zone: zone)
            batch = SampleBatch()
        }
        var sawLine = false
        while batch.count < Loader.batchRows, try readLine(skipBad: skipBad) { sawLine = true }
        try Interruption.check()
        priorities.merge(reader.priorities) { $1 }
        if !batch.isEmpty { try writer.store(batch) }
        batch.removeAll()
        return sawLine
    }

    /// Sets the orders of sources, and sums up what was loaded, which nobody would do once the tool has ended.
    private func finish() throws {
        let priorities = priorities
        if !priorities.isEmpty {
            try store.write { transaction in
                for (type, order) in priorities { try transaction.setPriority(order, of: type) }
            }
        }
        while try store.maintain(budget: .milliseconds(200)) { try Interruption.check() }
    }

    private mutating func readLine(skipBad: Bool) throws -> Bool {
        do {
            return try input.next { try reader.read($0, into: &batch) } != nil
        } catch let error as JSONError where skipBad {
            bad += 1
            if named.count < Loader.namedLines { named.append((input.number, error.reason)) }
            return true
        }
    }
}

/// Stores batches in order, one at a time, while the caller goes on.
private final class BatchWriter: Sendable {
    private let sampleStore: SampleStore
    private let queue = DispatchQueue(label: "load")
    private let isIdle = DispatchSemaphore(value: 0)
    private let outcome = Mutex<Result<ImportReport, any Error>>(.success(ImportReport()))

    init(_ store: SampleStore) {
        sampleStore = store
        isIdle.signal()
    }

    /// Waits for the batch before this one, and throws its error if it had one.
    func store(_ batch: SampleBatch) throws {
        isIdle.wait()
        do {
            _ = try outcome.withLock { try $0.get() }
        } catch {
            isIdle.signal()
            throw error
        }
        queue.async { [self] in
            let stored = Result { try sampleStore.importBatch(batch) }
            outcome.withLock { outcome in
                outcome = Result {
                    var total = try outcome.get()
                    total += try stored.get()
                    return total
                }
            }
            isIdle.signal()
        }
    }

    /// Waits until nothing is under way. What all batches came to.
    func finish() throws -> ImportReport {
        isIdle.wait()
        isIdle.signal()
        return try outcome.withLock { try $0.get() }
    }
}
