import Foundation
import Synchronization
import Testing

@testable import HealthKV

/// Who reads statistics waits for nobody who changes what they rest on.
@Suite struct StatisticsReadersTests {
    private static let phone = Source(bundle: "com.apple.health.phone", name: "Phone", product: "iPhone17,1")
    private static let watch = Source(bundle: "com.apple.health.watch", name: "Watch", product: "Watch7,1")
    private static let byPhone = [RankedSource(phone.identity)]

    private static var options: SampleStore.Options {
        var options = SampleStore.Options()
        options.limits.thinSamples = 0
        return options
    }

    private static func fill(_ store: SampleStore) throws {
        try store.write { txn in
            for number in 0..<100 {
                let start = Instant.day(number / 10, number % 10 * 600)
                for (source, value) in [(phone, 2.0), (watch, 1.0)] {
                    try txn.save(
                        Sample(.stepCount, value, .count, from: start, to: start + 300_000_000_000, source: source))
                }
            }
        }
        while try store.maintain() {}
        let blocks = try store.read { txn in
            try SummaryTable.summarizedBlocks(NameTable.number(of: .stepCount, in: txn.snapshot)!, in: txn.snapshot)
                .count
        }
        #expect(blocks > 0, "a summary stands there")
    }

    private static func total(_ store: SampleStore) throws -> Double? {
        try store.read { try $0.statistics(of: .stepCount).sum }
    }

    /// Runs `body` on another thread; `nil` when it has not come back in time.
    private static func elsewhere<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value? {
        let isDone = DispatchSemaphore(value: 0)
        let box = Box<Value>()
        let thread = Foundation.Thread {
            let found = Result { try body() }
            box.value.withLock { $0 = found }
            isDone.signal()
        }
        thread.start()
        _ = isDone.wait(timeout: .now() + 120)
        return try box.value.withLock { $0 }?.get()
    }

    private final class Box<Value: Sendable>: Sendable {
        let value = Mutex<Result<Value, any Error>?>(nil)
    }

    @Test("While a priority is being changed readers get the answers from before it")
    func readingDuringChange() throws {
        try withStore(options: Self.options) { store in
            try Self.fill(store)
            #expect(try Self.total(store) == 100)
            let seen = try store.write { txn in
                try txn.setPriority(Self.byPhone, of: .stepCount)
                return try Self.elsewhere { try Self.total(store) }
            }
            #expect(seen == 100)
            #expect(try Self.total(store) == 200)
        }
    }

    @Test("A change of priority, the upkeep behind it and a rebuild wait for no reader, who goes on with what it saw")
    func changingDuringRead() throws {
        try withStore(options: Self.options) { store in
            try Self.fill(store)
            try store.read { txn in
                let before = try txn.statistics(of: .stepCount).sum
                let isDone = try Self.elsewhere {
                    try store.write { try $0.setPriority(Self.byPhone, of: .stepCount) }
                    while try store.maintain() {}
                    try store.rebuild()
                    return true
                }
                #expect(isDone == true)
                #expect(try txn.statistics(of: .stepCount).sum == before)
            }
            #expect(try Self.total(store) == 200)
        }
    }
}
