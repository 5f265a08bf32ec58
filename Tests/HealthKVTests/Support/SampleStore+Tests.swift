import LMDB
import Synchronization
import Testing

@testable import HealthKV

/// A clock that stands still until it is told to go on.
final class TestClock: Sendable {
    private let nanoseconds: Atomic<Int64>

    init(_ start: Int64 = 800_000_000_000_000_000) { nanoseconds = Atomic(start) }

    var now: Instant { Instant(nanoseconds: nanoseconds.load(ordering: .relaxed)) }

    func advance(by step: Int64) { nanoseconds.add(step, ordering: .relaxed) }
}

/// Runs `body` with a fresh store, and checks the store afterwards.
func withStore(
    options: SampleStore.Options = SampleStore.Options(), sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (SampleStore) throws -> Void
) throws {
    let store = try SampleStore.temporary(options: options)
    try body(store)
    try store.expectClean(sourceLocation: sourceLocation)
    try store.close()
}

extension SampleStore {
    /// Saves one sample in a commit of its own.
    @discardableResult
    func save(_ sample: Sample) throws -> SaveOutcome { try write { try $0.save(sample) } }

    /// Puts records of chunks as they are.
    func put(_ chunks: [(key: [UInt8], value: [UInt8])]) throws {
        _ = try core.onWriter { [core] in
            try core.transact { txn in for chunk in chunks { try txn.put(.chunks, chunk.key, chunk.value) } }
        }
    }

    /// Demands that a check of the whole store finds nothing.
    func expectClean(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let report = try check()
        #expect(report.findings.isEmpty, "\(report.findings)", sourceLocation: sourceLocation)
        #expect(report.omitted == 0, sourceLocation: sourceLocation)
    }
}

/// Demands that `body` throws a store error with this code.
@discardableResult
func expectError<Value>(
    _ code: StoreError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Value
) -> (any Error)? {
    var thrown: (any Error)?
    do { _ = try body() } catch { thrown = error }
    #expect((thrown as? StoreError)?.code == code, "\(String(describing: thrown))", sourceLocation: sourceLocation)
    return thrown
}

/// An error of a test's own, to undo what a closure did.
struct Refusal: Error, Equatable {}

extension Instant {
    /// A day of the year 2026 or so, plus seconds.
    static func day(_ number: Int, _ seconds: Int = 0) -> Instant {
        Instant(nanoseconds: (788_918_400 + Int64(number) * 86_400 + Int64(seconds)) * nanosecondsPerSecond)
    }
}
