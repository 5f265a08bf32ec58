import Foundation
import HealthKV
import HealthModel
import TestSupport

/// Kills processes in the middle of their commits, lets others go on, takes the meta pages and all branch pages, and
/// judges what a repair makes of the rest: no value may come in of a commit that never happened.
///
/// A killed commit leaves its pages in the file under a number that the next commit takes again. Where no tree
/// survives, only the record of sessions tells them apart.
struct KilledStores {
    private let share: JudgedShare
    /// Plants a fault: the repair does not ask which sessions made which commits.
    private let asksSessions: Bool
    private var folder: String { share.folder }
    private var store: String { folder + "/store" }

    init(_ arguments: Arguments) throws {
        share = try JudgedShare("killed", arguments)
        asksSessions = !arguments.has("lie")
    }

    func judgeAll() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for number in share.numbers {
            var generator = SeededGenerator(seed: share.seed, part: number)
            let result = share.judge(number) { try judge(&generator) }
            if let bytes = try? RawFile.bytes(of: store + "/data.mdb") { try share.keep(number, bytes, result) }
        }
    }

    private func judge(_ generator: inout SeededGenerator) throws -> String {
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let kills = generator.number(1..<4)
        var earlier: [[SampleID: [UInt8]]] = []
        for run in 0..<kills {
            try kill(run, &generator)
            earlier.append(try RepairBase.samples(of: store))
        }
        // Little is written after the last kill, so that much of the killed commit is left.
        let last = try WorkingProcess(
            ["session", "--seed", "\(generator.next() >> 16)", "--commits", "1", "--rows", "30"], store: store,
            journal: "\(folder)/last")
        guard last.end() == 0 else { return "wrong_the_last_process_failed" }
        let known = try RepairBase.samples(of: store)
        try rob()
        let report: RepairReport
        do {
            var options = Vocabulary.repairOptions
            options.asksSessions = asksSessions
            report = try SampleStore.repair(at: store, to: folder + "/new", options: options)
        } catch let error as StoreError {
            return "wrong_refused_\(error.detail)".replacing(" ", with: "_")
        }
        guard report.check.isClean else { return "wrong_check" }
        let found = try RepairBase.samples(of: folder + "/new")
        let strange = found.filter { known[$0.key] != $0.value }
        if !strange.isEmpty {
            let old = strange.count { sample in earlier.contains { $0[sample.key] == sample.value } }
            return "wrong_\(strange.count)_never_happened_or_are_of_an_earlier_state,_the_latter_\(old)"
        }
        let lost = known.count - found.count
        if lost > 0, !report.isLossy { return "wrong_untold_loss_of_\(lost)" }
        // No page of samples was taken. What a killed commit may have changed is left out as doubtful: little of it.
        if lost > known.count / 4 { return "wrong_lost_\(lost)_of_\(known.count)" }
        return lost == 0 ? "right" : "partly"
    }

    /// Starts a process that writes, and kills it: while its commit writes pages, or at any moment.
    private func kill(_ run: Int, _ generator: inout SeededGenerator) throws {
        let journal = "\(folder)/begun-\(run)"
        let words = ["session", "--seed", "\(generator.next() >> 16)", "--rows", "\(generator.number(50..<1_500))"]
        let process = try WorkingProcess(words, store: store, journal: journal)
        let commits = generator.number(1..<4)
        while process.isRunning, size(journal) < commits { pause(microseconds: 100) }
        if generator.chance(percent: 75) {
            let (before, patience) = (size(store + "/data.mdb"), ContinuousClock.now + .seconds(1))
            while process.isRunning, size(store + "/data.mdb") == before, ContinuousClock.now < patience {}
            pause(microseconds: generator.number(0..<150))
        } else {
            pause(microseconds: generator.number(0..<20_000))
        }
        process.kill()
        let end = process.end()
        guard end == SIGKILL else { throw Mismatch("a killed process", store: "ended with \(end)", model: "a signal") }
    }

    private func size(_ path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }

    private func rob() throws {
        var bytes = try RawFile.bytes(of: store + "/data.mdb")
        DataPages.zeroTrees(&bytes)
        try RawFile(store + "/data.mdb").replace(with: bytes)
    }
}

/// A process that adds, changes and deletes samples, commit after commit, until it is killed.
enum KilledSession {
    static func run(_ arguments: Arguments) throws {
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        options.sealer = Vocabulary.sealer
        options.limits.ignoresPlace = true
        // A commit to the journal writes no page.
        options.limits.journaledCommits = 0
        let seed = try arguments.number("seed", default: 1)
        if seed % 2 == 0 { options.limits.chunkBytes = 600 }
        let store = try SampleStore.open(at: try arguments.text("store"), options: options)
        let journal = try RawFile(try arguments.text("acks"), appends: true)
        var known = try store.read { try $0.samples(SampleQuery(.stepCount, includeShadowed: true)).map(\.id) }
        let rows = Int(try arguments.number("rows", default: 100))
        for commit in 0..<Int(try arguments.number("commits", default: 100_000)) {
            // Its size is the number of commits that have begun.
            try journal.append(".")
            known = try store.write(change(SeededGenerator(seed: seed, part: commit), known, rows))
        }
        try store.close()
    }

    private static func change(
        _ generator: SeededGenerator, _ known: [SampleID], _ rows: Int
    ) -> @Sendable (inout WriteTransaction) throws -> [SampleID] {
        { transaction in
            var generator = generator
            var left: [SampleID] = []
            for id in known {
                switch generator.number(0..<100) {
                case 0..<8:
                    try transaction.delete(id: id)
                    continue
                case 8..<14:
                    if var sample = try transaction.sample(id: id) {
                        sample.quantity = Quantity(Double(generator.number(1..<1_000)), .count)
                        try transaction.save(sample)
                    }
                default: break
                }
                left.append(id)
            }
            for _ in 0..<max(1, generator.number(rows / 2..<rows + 1)) {
                let start = Vocabulary.instant(&generator)
                let sample = Sample(
                    .stepCount, Double(generator.number(1..<1_000)), .count, from: start, to: start + 1,
                    source: Vocabulary.ownSource)
                try transaction.save(sample)
                left.append(sample.id)
            }
            return left
        }
    }
}
