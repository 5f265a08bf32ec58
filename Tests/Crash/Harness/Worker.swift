import Foundation
import HealthKV
import Synchronization
import TestSupport

/// Performs random operations on a store, and keeps a journal of the content that it should have.
final class Worker: Sendable {
    private struct Planned: Error {}

    private struct State {
        var model = Model()
        var number = 0
        var failure: (any Error)?
    }

    private let store: SampleStore
    private let journal: RawFile
    private let seed: UInt64
    private let isMass: Bool
    /// A planted fault: acknowledges a change before its commit.
    private let lies: Bool
    /// The folder for occasional copies of the store; empty for none.
    private let copies: String
    /// Whether to replace the data file with a compacted one sometimes. A record of calls follows one file only.
    private let replaces: Bool
    private let state = Mutex(State())

    init(_ arguments: Arguments) throws {
        seed = try arguments.number("seed", default: 1)
        isMass = arguments.has("mass")
        lies = arguments.has("lie")
        copies = arguments.text("copies", default: "")
        replaces = arguments.has("replaces")
        journal = try RawFile(try arguments.text("acks"), appends: true)
        var options = Vocabulary.options(isMass: isMass)
        // Another planted fault: commits do not wait for the disk.
        options.limits.skipsSync = arguments.has("unsynced")
        // Journals that are moved into the tables seldom, often and never, and none at all.
        options.limits.journaledCommits = [0, 4, 12, 256][Int(seed % 4)]
        store = try SampleStore.open(at: try arguments.text("store"), options: options)
        try state.withLock { state in
            try store.read { transaction in
                _ = try transaction.content { state.model.adopt($0) }
            }
            try announce(&state)
        }
        try acknowledge(0)
    }

    static func run(_ arguments: Arguments) throws {
        let worker = try Worker(arguments)
        let count = Int(try arguments.number("transactions", default: 100))
        for step in 1...max(1, count) {
            try worker.step(step)
            if arguments.has("check") { try worker.check(step) }
        }
        try worker.store.close()
    }

    /// Checks the store after a step, to find the step that made the tables contradict each other.
    private func check(_ step: Int) throws {
        let report = try store.check()
        guard report.isClean else {
            throw Mismatch("check after step \(step)", store: "\(report.findings)", model: "none")
        }
    }

    private func announce(_ state: inout State) throws {
        // The number of the last commit, which is the same for all members of the commit in progress.
        let last = try store.read { $0.currentToken.commit }
        let line = JournalLine.content(
            number: state.number, group: state.number == 0 ? last : last + 1, state.model.digest)
        try journal.append(line.text)
        if lies {
            try acknowledge(state.number)
            // Long enough that some kills fall in between.
            pause(microseconds: 3_000)
        }
    }

    private func acknowledge(_ number: Int) throws { try journal.append(JournalLine.acknowledged(number).text) }

    private func step(_ step: Int) throws {
        var generator = SeededGenerator(seed: seed, part: step)
        switch generator.number(0..<100) {
        case 0..<66: try acknowledge(store.write(change(generator)))
        case 66..<76: try failing(generator)
        case 76..<88: try threads(&generator)
        case 88..<94: try tasks(&generator)
        case 94: _ = try store.maintain(budget: .milliseconds(2))
        case 95: try store.rebuild()
        case 96: try copy(compacting: generator.chance(percent: 50))
        case 97 where replaces: try store.compactInPlace()
        // Gives the writer time to continue unfinished mass operations.
        default: pause(microseconds: generator.number(0..<2_000))
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// The closure of a transaction: performs some operations on store and model, then announces the content.
    private func change(_ generator: SeededGenerator) -> @Sendable (inout WriteTransaction) throws -> Int {
        { [self] transaction in
            try state.withLock { state in
                let before = state.model.digest
                var source = OperationSource(generator: generator, run: seed, isMass: isMass)
                for operation in source.transaction(state.model) {
                    try operation.perform(&transaction, &state.model)
                }
                // A transaction without changes makes no commit, so it is durable together with the previous one.
                if state.model.digest != before {
                    state.number += 1
                    try transaction.setAnchor(Worker.anchor(state.model.digest))
                    try announce(&state)
                }
                return state.number
            }
        }
    }

    /// An anchor in another table of the same commit, whose token identifies the content.
    static func anchor(_ digest: ContentDigest) -> Anchor {
        Anchor(peer: "crash", type: .stepCount, token: Array(digest.description.utf8), time: Instant(nanoseconds: 0))
    }

    /// A transaction that throws after its changes: none of them may remain.
    private func failing(_ generator: SeededGenerator) throws {
        do {
            try store.write(givingUp(generator))
            throw Mismatch("a transaction that throws", store: "done", model: "undone")
        } catch is Planned {}
    }

    private func givingUp(_ generator: SeededGenerator) -> @Sendable (inout WriteTransaction) throws -> Void {
        { [self] transaction in
            var model = state.withLock { $0.model }
            var source = OperationSource(generator: generator, run: seed, isMass: isMass)
            for operation in source.transaction(model) { try operation.perform(&transaction, &model) }
            throw Planned()
        }
    }

    /// Several threads write at once and share commits; some of the transactions throw.
    private func threads(_ generator: inout SeededGenerator) throws {
        let group = DispatchGroup()
        for member in 0..<generator.number(2..<5) {
            let own = SeededGenerator(seed: generator.next(), part: member)
            let givesUp = generator.chance(percent: 20)
            let thread = Thread { [self] in
                keep { if givesUp { try failing(own) } else { try acknowledge(store.write(change(own))) } }
                group.leave()
            }
            group.enter()
            thread.start()
        }
        group.wait()
    }

    /// Does the same with tasks, which wait without blocking a thread.
    private func tasks(_ generator: inout SeededGenerator) throws {
        let group = DispatchGroup()
        for member in 0..<generator.number(2..<8) {
            let own = SeededGenerator(seed: generator.next(), part: member)
            group.enter()
            Task.detached { [self] in
                do {
                    let number = try await store.write(change(own))
                    keep { try acknowledge(number) }
                } catch {
                    keep { throw error }
                }
                group.leave()
            }
        }
        group.wait()
    }

    private func copy(compacting: Bool) throws {
        guard !copies.isEmpty else { return }
        try? FileManager.default.removeItem(atPath: copies)
        if compacting { try store.compact(to: copies) } else { try store.backup(to: copies) }
    }

    private func keep(_ body: () throws -> Void) {
        do { try body() } catch { state.withLock { $0.failure = $0.failure ?? error } }
    }
}
