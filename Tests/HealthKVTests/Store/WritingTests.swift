import LMDB
import Synchronization
import Testing

@testable import HealthKV

/// What `write` promises: one commit, all or nothing, no deadlock.
@Suite struct WritingTests {
    private func steps(_ value: Double, _ day: Int) -> Sample { Sample(.stepCount, value, .count, at: .day(day)) }

    @Test("A closure that throws changes nothing, and its error reaches the caller") func failing() throws {
        try withStore { store throws in
            let sample = steps(1, 1)
            #expect(throws: Refusal.self) {
                try store.write { txn in
                    try txn.save(sample)
                    let found = try txn.sample(id: sample.id)
                    #expect(found != nil)
                    throw Refusal()
                }
            }
            #expect(try store.read { try $0.sample(id: sample.id) } == nil)
            #expect(try store.read { try $0.count() } == 0)
        }
    }

    @Test("A sample that the model refuses is an error that says so, and nothing is stored") func refused() throws {
        try withStore { store throws in
            let good = steps(1, 1)
            let bad = Sample(.stepCount, 1, .kilogram, at: .day(1))
            expectError(.invalidSample) { try store.write { try $0.save([good, bad]) } }
            #expect(try store.read { try $0.count() } == 0)
            // Caught inside, the samples before the refused one are not stored either.
            try store.write { txn in _ = try? txn.save([good, bad]) }
            #expect(try store.read { try $0.count() } == 0)
        }
    }

    @Test("A failing member of a group undoes only its own work") func groups() async throws {
        let store = try SampleStore.temporary()
        let samples = (0..<60).map { steps(Double($0), $0) }
        // While the first member holds the writer, the others pile up and share the next commit.
        let gate = Gate()
        let started = Monitor(false)
        let first = Task.detached {
            try await store.write { _ in
                started.withLock { $0 = true }
                gate.wait()
            }
        }
        // The thread is let go meanwhile: on a machine with few processors the task may have no other.
        while !started.withLock({ $0 }) { await Task.yield() }
        try await withThrowingTaskGroup { group in
            for (index, sample) in samples.enumerated() {
                group.addTask {
                    do {
                        try await store.write { txn in
                            try txn.save(sample)
                            if index % 3 == 0 { throw Refusal() }
                        }
                        #expect(index % 3 != 0)
                    } catch is Refusal {
                        #expect(index % 3 == 0)
                    }
                }
            }
            while store.core.queue.withLock({ $0.members.count }) < samples.count { await Task.yield() }
            gate.open()
            try await group.waitForAll()
        }
        try await first.value
        let live = try store.blockingRead { try $0.samples(of: .stepCount) }
        #expect(live.map(\.id) == samples.enumerated().filter { $0.offset % 3 != 0 }.map(\.element.id))
        #expect(Set(try store.feed().map(\.token.commit)).count == 1, "all of them shared one commit")
        try store.expectClean()
        try store.close()
    }

    @Test("Writing inside write is an error, by either door, and reading inside is not") func nested() throws {
        try withStore { store throws in
            let sample = steps(1, 1)
            try store.write { txn in
                try txn.save(sample)
                expectError(.nested) { try store.write { try $0.save(sample) } }
                expectError(.nested) { try store.maintain() }
                // Another snapshot: it does not see what is not committed.
                #expect(try store.read { try $0.count() } == 0)
                let count = try txn.count()
                #expect(count == 1)
            }
            #expect(try store.read { try $0.count() } == 1)
        }
    }

    @Test("A write that changes nothing makes no commit") func nothing() throws {
        // Upkeep would commit meanwhile.
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        try withStore(options: options) { store throws in
            let sample = steps(1, 1)
            try store.write { try $0.save(sample) }
            let token = try store.read { $0.currentToken }
            #expect(try store.write { try $0.save(sample) } == .unchanged)
            #expect(try store.write { try $0.delete(id: SampleID()) } == false)
            #expect(try store.write { try $0.delete(.group("none")) } == 0)
            #expect(try store.read { $0.currentToken } == token)
        }
    }

    @Test("A transaction reads what it wrote") func ownWrites() throws {
        try withStore { store throws in
            let samples = (0..<50).map { steps(Double($0), $0) }
            try store.write { txn in
                for (index, sample) in samples.enumerated() {
                    try txn.save(sample)
                    let (count, latest) = (try txn.count(of: .stepCount), try txn.latest(of: .stepCount))
                    #expect(count == index + 1)
                    #expect(latest?.id == sample.id)
                }
                let values = try txn.series(.stepCount).values
                #expect(values == samples.map(\.quantity.value))
                try txn.delete(id: samples[0].id)
                let (count, series) = (try txn.count(), try txn.series(.stepCount))
                #expect(count == 49)
                #expect(series.count == 49)
            }
        }
    }

    @Test("A reader keeps its snapshot while others write") func snapshots() throws {
        try withStore { store throws in
            try store.save(steps(1, 1))
            try store.read { txn in
                try store.save(steps(2, 2))
                let (count, samples) = (try txn.count(of: .stepCount), try txn.samples(of: .stepCount))
                #expect(count == 1)
                #expect(samples.count == 1)
            }
            #expect(try store.read { try $0.count(of: .stepCount) } == 2)
        }
    }

    @Test("Writers of many threads lose nothing") func threads() async throws {
        let store = try SampleStore.temporary()
        try await withThrowingTaskGroup { group in
            for worker in 0..<8 {
                group.addTask {
                    for index in 0..<25 {
                        let sample = Sample(.stepCount, Double(index), .count, at: .day(index, worker))
                        try await store.write { try $0.save(sample) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.blockingRead { try $0.count(of: .stepCount) } == 200)
        #expect(try store.blockingRead { try $0.samples(of: .stepCount).count } == 200)
        try store.expectClean()
        try store.close()
    }
}
