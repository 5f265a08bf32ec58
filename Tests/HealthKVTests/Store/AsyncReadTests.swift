import Foundation
import struct LMDB.ThreadIdentity
import func LMDB.pause
import Synchronization
import TestSupport
import Testing

@testable import HealthKV

/// The tests run one after the other: two that each need all threads of the readers would wait for each other forever.
@Suite("Asynchronous reads", .serialized, .timeLimit(.minutes(30)))
struct AsyncReadTests {
    private static func store(_ count: Int = 10) throws -> SampleStore {
        let store = try SampleStore.temporary()
        try store.write { txn in
            for index in 0..<count {
                _ = try txn.save(Sample(.stepCount, Double(index), .count, at: Instant(nanoseconds: Int64(index))))
            }
        }
        return store
    }

    @Test("A read runs aside, and not on the thread that asks") func aside() async throws {
        let store = try Self.store()
        let mine = ThreadIdentity.current
        let (count, other) = try await store.read { (try $0.count(of: .stepCount), ThreadIdentity.current) }
        #expect(count == 10)
        #expect(other != mine)
        try store.close()
        await #expect(throws: StoreError.self) { try await store.read { try $0.count() } }
    }

    /// A cipher that notes on which threads it opens values.
    private final class NotingCipher: StoreSealer {
        private let cipher = TestCipher(key: 1)
        private let threads = Mutex<[ThreadIdentity]>([])

        func seal(_ bytes: [UInt8], binding: [UInt8]) throws -> [UInt8] { try cipher.seal(bytes, binding: binding) }

        func open(_ sealed: [UInt8], binding: [UInt8]) throws -> [UInt8] {
            threads.withLock { $0.append(.current) }
            return try cipher.open(sealed, binding: binding)
        }

        func take() -> [ThreadIdentity] {
            threads.withLock { threads in
                defer { threads = [] }
                return threads
            }
        }
    }

    @Test("Changes, pages and statistics that the main actor follows are read on other threads") @MainActor
    func followed() async throws {
        let (cipher, folder, mine) = (NotingCipher(), TemporaryFolder(), ThreadIdentity.current)
        var options = SampleStore.Options()
        options.sealer = cipher
        /// Expects that a step opens values, and none of them on this thread. Each store begins with none open.
        func expectElsewhere(_ step: @MainActor (SampleStore) async throws -> Void) async throws {
            let store = try SampleStore.open(at: folder.inner("sealed"), options: options)
            try await step(store)
            let threads = cipher.take()
            #expect(!threads.isEmpty && !threads.contains(mine))
            try store.close()
            _ = cipher.take()
        }
        try await expectElsewhere { store in
            let changes = store.changes(of: [.stepCount])
            try await store.write { txn in
                for number in 0..<100 { _ = try txn.save(Sample(.stepCount, 1, .count, at: .day(0, number))) }
            }
            _ = cipher.take()
            for await _ in changes { break }
        }
        try await expectElsewhere { store in
            _ = cipher.take()
            for try await page in store.pages(SampleQuery(.stepCount), size: 50) { #expect(page.count == 50) }
        }
        try await expectElsewhere { store in
            _ = cipher.take()
            let query = StatisticsQuery(
                .stepCount, by: .day, from: .day(0), to: .day(1), calendar: Calendar(identifier: .gregorian))
            for try await days in store.statisticsUpdates(query) {
                #expect(days.first?.sum == 100)
                break
            }
        }
    }

    @Test("An error of the closure arrives as it is") func errors() async throws {
        struct Mine: Error {}
        let store = try Self.store()
        await #expect(throws: Mine.self) { try await store.read { _ in throw Mine() } }
        let error = await #expect(throws: StoreError.self) {
            try await store.read { try $0.page(SampleQuery(.stepCount), size: 0) }
        }
        #expect(error?.code == .invalidArgument)
        try store.close()
    }

    @Test("More reads than there are threads all end, and none of them waits for a writer") func many() async throws {
        let store = try Self.store()
        let began = Shared(0)
        let letGo = Shared(false)
        let writer = Task {
            try await store.write { txn in
                _ = try txn.save(Sample(.stepCount, 1, .count, at: Instant(nanoseconds: 500)))
                while !letGo.withLock({ $0 }) { pause(milliseconds: 1) }
            }
        }
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    try await store.read { txn in
                        began.withLock { $0 += 1 }
                        return try txn.count(of: .stepCount)
                    }
                }
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(counts == Array(repeating: 10, count: 200))
        #expect(began.withLock { $0 } == 200)
        letGo.withLock { $0 = true }
        try await writer.value
        try store.close()
    }

    @Test("A read that is cancelled before it begins never runs; one that runs ends early") func cancellation()
        async throws
    {
        let store = try Self.store(20_000)
        let early = Task {
            try await Task.sleep(for: .seconds(60))
            return try await store.read { _ in 1 }
        }
        early.cancel()
        await #expect(throws: CancellationError.self) { try await early.value }
        let before = Task { try await store.read { _ in true } }
        before.cancel()
        switch await before.result {
        case .success(let ran): #expect(ran)
        case .failure(let error): #expect(error is CancellationError)
        }
        let (begun, told) = AsyncStream.makeStream(of: Void.self)
        let long = Task {
            try await store.read { txn in
                told.finish()
                // Goes on until it is told to end.
                while true { _ = try txn.samples(of: .stepCount) }
            }
        }
        for await _ in begun {}
        long.cancel()
        await #expect(throws: CancellationError.self) { try await long.value }
        // The thread is free again.
        #expect(try await store.read { try $0.count(of: .stepCount) } == 20_000)
        try store.close()
    }

    @Test("A read that waits when its store is closed does not begin") func closing() async throws {
        let store = try Self.store()
        let letGo = Shared(false)
        defer { letGo.withLock { $0 = true } }
        let began = Shared(0)
        let other = try Self.store()
        let holders = (0..<4).map { _ in
            Task {
                try await other.read { _ in
                    began.withLock { $0 += 1 }
                    while !letGo.withLock({ $0 }) { pause(milliseconds: 1) }
                }
            }
        }
        while began.withLock({ $0 }) < 4 { try await Task.sleep(for: .milliseconds(1)) }
        let waiting = Task { try await store.read { try $0.count() } }
        try await Task.sleep(for: .milliseconds(20))
        try store.close()
        letGo.withLock { $0 = true }
        let error = await #expect(throws: StoreError.self) { try await waiting.value }
        #expect(error?.code == .closed)
        for holder in holders { try await holder.value }
        try other.close()
    }

    @Test("Reads behind a full queue are given up at once when their task is cancelled") func waiting() async throws {
        let store = try Self.store()
        let letGo = Shared(false)
        defer { letGo.withLock { $0 = true } }
        let began = Shared(0)
        let holders = (0..<4).map { _ in
            Task {
                try await store.read { _ in
                    began.withLock { $0 += 1 }
                    while !letGo.withLock({ $0 }) { pause(milliseconds: 1) }
                }
            }
        }
        while began.withLock({ $0 }) < 4 { try await Task.sleep(for: .milliseconds(1)) }
        let ran = Shared(false)
        let waiting = Task { try await store.read { _ in ran.withLock { $0 = true } } }
        try await Task.sleep(for: .milliseconds(20))
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        letGo.withLock { $0 = true }
        for holder in holders { try await holder.value }
        #expect(!ran.withLock { $0 })
        try store.close()
    }
}

/// A value that tasks share.
private final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func withLock<Answer: Sendable>(_ body: (inout sending Value) -> sending Answer) -> Answer {
        value.withLock { body(&$0) }
    }
}

@Suite("Values that follow the store", .timeLimit(.minutes(30)))
struct StoreValuesTests {
    private static func at(_ day: Int) -> Instant { Instant(nanoseconds: Int64(day) * 86_400_000_000_000) }

    private static func save(_ type: SampleType, _ value: Double, _ day: Int, in store: SampleStore) throws {
        _ = try store.write { try $0.save(Sample(type, value, type.canonicalUnit!, at: at(day))) }
    }

    @Test("The first value comes at once, and another only for a change of the type and range that was read")
    func touching() async throws {
        let store = try SampleStore.temporary()
        try Self.save(.stepCount, 1, 1, in: store)
        let reads = Shared(0)
        var values = store.values { txn in
            reads.withLock { $0 += 1 }
            return try txn.samples(of: .stepCount, from: Self.at(0), to: Self.at(5)).map(\.quantity.value)
        }.makeAsyncIterator()
        #expect(try await values.next() == [1])
        try Self.save(.bodyMass, 70, 1, in: store)
        try Self.save(.stepCount, 9, 9, in: store)
        try Self.save(.stepCount, 2, 2, in: store)
        #expect(try await values.next() == [1, 2])
        #expect(reads.withLock { $0 } == 2)
        // A slow consumer gets the last value, not each one.
        for value in 3...4 { try Self.save(.stepCount, Double(value), value, in: store) }
        #expect(try await values.next() == [1, 2, 3, 4])
        try store.close()
        #expect(try await values.next() == nil)
    }

    @Test("A read of anything else is repeated after every commit") func everything() async throws {
        let store = try SampleStore.temporary()
        var counts = store.values { try $0.count() }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        try Self.save(.bodyMass, 70, 1, in: store)
        #expect(try await counts.next() == 1)
        var tokens = store.values { $0.currentToken }.makeAsyncIterator()
        let first = try await tokens.next()
        try Self.save(.stepCount, 70, 1, in: store)
        let second = try await tokens.next()
        #expect(first != second)
        try store.close()
    }

    @Test("What a closure reads inside a read is noted, too") func nested() async throws {
        let store = try SampleStore.temporary()
        try Self.save(.stepCount, 1, 1, in: store)
        var values = store.values { txn in
            var weight: Double?
            try txn.forEachSample(of: .stepCount) { _ in
                weight = try txn.latest(of: .bodyMass)?.quantity.value
                return true
            }
            return weight
        }.makeAsyncIterator()
        #expect(try await values.next() == .some(nil))
        try Self.save(.bodyMass, 70, 1, in: store)
        #expect(try await values.next() == 70)
        try store.close()
    }

    @Test("An answer that an earlier read of the snapshot had prepared is followed like any other") func prepared()
        async throws
    {
        let store = try SampleStore.temporary()
        _ = try store.blockingRead { try $0.latest(of: .bodyMass) }
        var days = store.values { try $0.weightTrend().count }.makeAsyncIterator()
        #expect(try await days.next() == 0)
        var latest = store.values { try $0.latest(of: .bodyMass)?.quantity.value }.makeAsyncIterator()
        #expect(try await latest.next() == .some(nil))
        try Self.save(.bodyMass, 70, 1, in: store)
        #expect(try await days.next() == 1)
        #expect(try await latest.next() == 70)
        try store.close()
    }

    @Test("A source that gets another name is found by it, and a read inside the read counts") func renamed()
        async throws
    {
        let store = try SampleStore.temporary()
        func save(_ type: SampleType, _ name: String) async throws {
            try await store.write { txn in
                _ = try txn.save(
                    Sample(
                        type, 70, type.canonicalUnit!, at: Self.at(1), source: Source(bundle: "com.scale", name: name)))
            }
        }
        try await save(.bodyMass, "Scale")
        var byName = store.values {
            try $0.count(of: .bodyMass, where: .source(named: "Scale Pro"))
        }.makeAsyncIterator()
        var inside = store.values { _ in try store.blockingRead { try $0.count(of: .stepCount) } }.makeAsyncIterator()
        #expect(try await byName.next() == 0)
        #expect(try await inside.next() == 0)
        try await save(.stepCount, "Scale Pro")
        #expect(try await byName.next() == 1)
        #expect(try await inside.next() == 1)
        try store.close()
    }

    @Test("The order of sources and shadowing change values as well") func orders() async throws {
        let store = try SampleStore.temporary()
        for (name, value) in [("A", 10.0), ("B", 20)] {
            _ = try await store.write {
                try $0.save(
                    Sample(
                        .stepCount, value, .count, from: Self.at(1), to: Self.at(1) + 3_600_000_000_000,
                        source: Source(name: name)))
            }
        }
        var sums = store.values { try $0.statistics(of: .stepCount).sum }.makeAsyncIterator()
        let first = try #require(try await sums.next() ?? nil)
        let other = first == 10 ? "B" : "A"
        try await store.write { try $0.setPriority([RankedSource(SourceIdentity(name: other))], of: .stepCount) }
        let second = try #require(try await sums.next() ?? nil)
        #expect(Set([first, second]) == [10, 20])
        try store.close()
    }

    @Test(
        "Random reads and writes: a value is told again whenever the answer has changed",
        arguments: [UInt64.random(in: 0 ... .max)])
    func completeness(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let types: [SampleType] = [.stepCount, .bodyMass, .dietaryWater]
        for _ in 0..<40 {
            let store = try SampleStore.temporary()
            let type = random.pick(types)
            let (from, to) = (Self.at(random.number(0..<5)), Self.at(random.number(5..<10)))
            let kind = random.number(0..<5)
            let read: @Sendable (borrowing ReadTransaction) throws -> [Double] = { txn in
                switch kind {
                case 0: try txn.samples(of: type, from: from, to: to).map(\.quantity.value)
                case 1: [Double(try txn.count(of: type, from: from, to: to))]
                case 2: try txn.series(type, from: from, to: to).values
                case 3: try txn.statistics(of: type, from: from, to: to).sum.map { [$0] } ?? []
                default: try txn.latest(of: type).map { [$0.quantity.value] } ?? []
                }
            }
            var values = store.values(read).makeAsyncIterator()
            var last = try await values.next()
            for _ in 0..<12 {
                let (other, value, day) = (random.pick(types), Double(random.number(1..<100)), random.number(0..<12))
                if random.chance(percent: 25) {
                    let (first, last) = (Self.at(random.number(0..<6)), Self.at(random.number(6..<12)))
                    _ = try await store.write { try $0.delete(.range(of: other, from: first, to: last)) }
                } else {
                    try Self.save(other, value, day, in: store)
                }
                let now = try store.blockingRead(read)
                if now != last {
                    last = try await values.next()
                    #expect(last == now, "seed \(seed)")
                }
            }
            try store.close()
        }
    }

    @Test("Waiting ends when the task is cancelled, and goes on after a suspension") func ends() async throws {
        let store = try SampleStore.temporary()
        let (begun, told) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var seen: [Int] = []
            for try await count in store.values({ try $0.count(of: .stepCount) }) {
                seen.append(count)
                told.finish()
            }
            return seen
        }
        for await _ in begun {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        var counts = store.values { try $0.count(of: .stepCount) }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        try store.suspend()
        try store.resume()
        try Self.save(.stepCount, 1, 1, in: store)
        #expect(try await counts.next() == 1)
        try store.close()
    }
}
