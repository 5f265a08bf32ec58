import Foundation
import HealthKV
import Synchronization
import TestSupport

/// Makes each call in a run of transactions fail once, in each way a disk may fail. Demands the right error, a store
/// that opens again, and no loss of acknowledged changes. The shim `fault.c` must be preloaded.
final class Faults: Sendable {
    enum Mode: Int32, CaseIterable { case io = 1, noSpace, interrupted, short }

    /// The kind of call that failed, by the shim's numbers.
    private enum Hit: Int32 { case none, dataWrite, metaWrite, sync, open, name, size, otherWrite, read, lock }

    private let scratch: String
    private let seed: UInt64
    private let transactions: Int
    /// The planted fault that the harness must find: treats an error as success.
    private let lies: Bool
    private let shim: Shim
    /// The content of the store if the current transaction commits.
    private let intended = Mutex(Model())

    private init(_ arguments: Arguments) throws {
        scratch = try arguments.text("scratch")
        seed = try arguments.number("seed", default: 1)
        transactions = Int(try arguments.number("transactions", default: 200))
        lies = arguments.has("lie")
        shim = try Shim()
    }

    private var folder: String { scratch + "/store" }

    static func run(_ arguments: Arguments) throws {
        let faults = try Faults(arguments)
        let step = Int(try arguments.number("step", default: 1))
        let total = try faults.one(0, .io).calls
        var (runs, hits, wrong) = (0, 0, 0)
        // The first calls in the life of a store differ most; `step` skips later calls, most of which are alike.
        for number in stride(from: 1 + Int(faults.seed) % step, through: total, by: step) where wrong < 20 {
            for mode in Mode.allCases {
                runs += 1
                do {
                    if try faults.one(number, mode).isHit { hits += 1 }
                } catch {
                    wrong += 1
                    complain("call \(number) of \(total), \(mode): \(error)")
                }
            }
        }
        print("faults \(runs) hit \(hits) of calls \(total) wrong \(wrong)")
        if wrong > 0 { exit(1) }
    }

    /// Runs transactions from an empty folder until shortly after the chosen call has failed.
    private func one(_ number: Int, _ mode: Mode) throws -> (calls: Int, isHit: Bool) {
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        var source = OperationSource(generator: SeededGenerator(seed: seed, part: 0), run: seed)
        var model = Model()
        shim.arm(folder, number, mode.rawValue)
        var store = try reopen(mode)
        var rest = 5
        for step in 0..<transactions where rest > 0 {
            let operations = source.transaction(model)
            model = try attempt(&store, mode, model) { store, before in
                try store.write { [self] transaction in
                    var model = before
                    for operation in operations { try operation.perform(&transaction, &model) }
                    let done = model
                    intended.withLock { $0 = done }
                }
                return intended.withLock { $0 }
            }
            if step == transactions / 2 {
                model = try attempt(&store, mode, model) { store, before in
                    intended.withLock { $0 = before }
                    try store.compactInPlace()
                    return before
                }
            }
            // Continue briefly after the fault, because its damage may appear only later.
            if shim.hit != 0 { rest -= 1 }
        }
        let calls = shim.calls
        let isHit = shim.hit != 0
        shim.arm("", 0, 0)
        try compare(store, model.digest)
        try store.close()
        return (calls, isHit)
    }

    /// Opens the store. It may fail once, with an error of the store.
    private func reopen(_ mode: Mode) throws -> SampleStore {
        let wasHit = shim.hit != 0
        do {
            return try SampleStore.open(at: folder, options: Vocabulary.options(maintains: false))
        } catch let error as StoreError where shim.hit != 0 && !wasHit {
            try judge(error, mode)
            return try SampleStore.open(at: folder, options: Vocabulary.options(maintains: false))
        }
    }

    /// Runs `work`. If it fails, checks that the error is right and that no change is half applied, and runs it again.
    /// Returns the content that the store should have then.
    private func attempt(
        _ store: inout SampleStore, _ mode: Mode, _ model: Model, _ work: (SampleStore, Model) throws -> Model
    ) throws -> Model {
        let wasHit = shim.hit != 0
        do {
            return try work(store, model)
        } catch let error as StoreError {
            guard shim.hit != 0, !wasHit else { throw error }
            try judge(error, mode)
            let isUnknown = error.code == .outcomeUnknown
            if error.code == .poisoned || isUnknown, (try? store.read { try $0.count() }) != nil {
                throw Verdict(loss: .half, detail: "a store went on after \(error.code.rawValue)")
            }
            try? store.close()
            store = try reopen(mode)
            // The planted fault treats the failed commit as done.
            if lies { return intended.withLock { $0 } }
            let content = try store.read { try $0.content() }
            guard content != model.digest else { return try work(store, model) }
            let after = intended.withLock { $0 }
            guard isUnknown, content == after.digest else {
                throw Verdict(loss: .half, detail: "an error was given, but something happened")
            }
            return after
        }
    }

    private func judge(_ error: StoreError, _ mode: Mode) throws {
        let right: Set<StoreError.Code>
        switch (Hit(rawValue: shim.hit), mode) {
        case (.dataWrite, .noSpace): right = [.full]
        case (.dataWrite, .interrupted): right = []
        case (.dataWrite, _): right = [.poisoned, .storage, .full]
        case (.metaWrite, .interrupted): right = [.storage]
        // A failed meta page of a copy is harmless, because the copy is discarded.
        case (.metaWrite, .noSpace): right = [.outcomeUnknown, .storage, .full]
        case (.metaWrite, _): right = [.outcomeUnknown, .storage]
        case (.sync, .noSpace): right = [.full, .storage]
        case (.sync, _): right = [.poisoned, .storage]
        // A read error is not damage.
        case (.read, _), (.lock, _): right = [.storage]
        default: right = [.storage, .full, .accessDenied, .noStore, .replaced]
        }
        guard right.contains(error.code) else {
            throw Verdict(loss: .unwritable, detail: "the wrong error after a fault of kind \(shim.hit): \(error)")
        }
    }

    private func compare(_ store: SampleStore, _ expected: ContentDigest) throws {
        let content = try store.read { try $0.content() }
        guard content == expected else { throw Verdict(loss: .lost, detail: "the content differs at the end") }
        let report = try store.check(limit: 3)
        guard report.isClean else { throw Verdict(loss: .half, detail: "\(report.findings)") }
    }
}

/// The functions of the preloaded shim.
@safe
private struct Shim: @unchecked Sendable {
    // @unchecked Sendable: pointers to C functions, which never change.
    private let armFunction: @convention(c) (UnsafePointer<CChar>, Int, Int32) -> Void
    private let callsFunction: @convention(c) () -> Int
    private let hitFunction: @convention(c) () -> Int32

    init() throws {
        guard let arm = unsafe dlsym(nil, "fault_arm"), let calls = unsafe dlsym(nil, "fault_calls"),
            let hit = unsafe dlsym(nil, "fault_hit")
        else { throw Arguments.Misuse(description: "fault.c is not preloaded") }
        // unsafe: these are the signatures in fault.c.
        unsafe armFunction = unsafeBitCast(arm, to: (@convention(c) (UnsafePointer<CChar>, Int, Int32) -> Void).self)
        unsafe callsFunction = unsafeBitCast(calls, to: (@convention(c) () -> Int).self)
        unsafe hitFunction = unsafeBitCast(hit, to: (@convention(c) () -> Int32).self)
    }

    func arm(_ folder: String, _ number: Int, _ mode: Int32) { unsafe armFunction(folder, number, mode) }
    var calls: Int { callsFunction() }
    var hit: Int32 { hitFunction() }
}
