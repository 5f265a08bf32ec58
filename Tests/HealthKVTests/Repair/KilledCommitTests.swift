import ColumnFormat
import Foundation
import LMDB
import TestSupport
import Testing

@testable import HealthKV

/// A killed commit writes its pages and no meta page, and the next commit takes its number. Where no tree survives, the
/// record of sessions tells the two apart.
@Suite("Repair after killed commits")
struct KilledCommitTests {
    private static let pageSize = DataPages.size
    private static let source = Source(bundle: "a", name: "A")

    private func open(_ folder: String) throws -> SampleStore {
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        options.limits.ignoresPlace = true
        // Every commit goes to the tables: one to the journal writes no page.
        options.limits.journaledCommits = 0
        options.limits.chunkBytes = 600
        return try SampleStore.open(at: folder, options: options)
    }

    /// What a session did to samples, besides adding some.
    private struct Round {
        var values: [SampleID: Double]
        var random: SeededGenerator

        mutating func write(to store: SampleStore, samples count: Int) throws {
            var gone: [SampleID] = []
            for id in values.keys.sorted() where random.chance(percent: 10) { gone.append(id) }
            let samples = (0..<count).map { _ in
                let start = Instant.day(random.number(1..<40)) + Int64(random.number(0..<86_400_000)) * 1_000_000
                return Sample(
                    .stepCount, Double(random.number(1..<1_000)), .count, from: start, to: start + 1, source: source)
            }
            try store.write { [gone] txn in
                for id in gone { try txn.delete(id: id) }
                for sample in samples { try txn.save(sample) }
            }
            for id in gone { values[id] = nil }
            for sample in samples { values[sample.id] = sample.quantity.value }
        }
    }

    private func metas(_ folder: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: folder + "/data.mdb")).prefix(2 * Self.pageSize)
    }

    private func put(_ metas: Data, _ folder: String) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder + "/data.mdb"))
        try file.write(contentsOf: metas)
        try file.close()
    }

    /// Makes a store in which some sessions were killed in their last commit. Returns what it holds, and all samples of
    /// commits that never happened.
    private func makeStore(
        _ folder: String, _ random: inout SeededGenerator
    ) throws -> (values: [SampleID: Double], ghosts: Set<SampleID>) {
        var round = Round(values: [:], random: SeededGenerator(seed: random.next(), part: 0))
        var ghosts: Set<SampleID> = []
        for session in 0..<4 {
            var store = try open(folder)
            // Little is written after the last killed commit, so that much of it is left.
            let commits = session < 3 ? random.number(2..<4) : 1
            for _ in 0..<commits { try round.write(to: store, samples: random.number(session < 3 ? 40..<160 : 5..<30)) }
            if session < 3 {
                if session < 2, random.chance(percent: 30) {
                    // Killed in its first commit.
                    try store.close()
                    store = try open(folder)
                }
                let before = try metas(folder)
                var killed = round
                try killed.write(to: store, samples: random.number(100..<300))
                ghosts.formUnion(killed.values.keys.filter { round.values[$0] == nil })
                round.random = killed.random
                try store.close()
                try put(before, folder)
            } else {
                try store.close()
            }
        }
        return (round.values, ghosts)
    }

    /// Takes the meta pages and all branch pages.
    private func rob(_ folder: String) throws {
        let url = URL(fileURLWithPath: folder + "/data.mdb")
        var bytes = [UInt8](try Data(contentsOf: url))
        DataPages.zeroTrees(&bytes)
        try Data(bytes).write(to: url)
    }

    private func values(_ folder: String) throws -> [SampleID: Double] {
        let store = try open(folder)
        defer { try? store.close() }
        let samples = try store.read { try $0.samples(SampleQuery(.stepCount, includeShadowed: true)) }
        return Dictionary(uniqueKeysWithValues: samples.map { ($0.id, $0.quantity.value) })
    }

    /// Repairs up to `most` stores. Returns the number of the first that comes out wrong; `nil` if none does.
    private func firstWrong(of most: Int, seed: UInt64, asksSessions: Bool) throws -> Int? {
        for part in 0..<most {
            let folder = TemporaryFolder()
            let place = folder.path
            var random = SeededGenerator(seed: seed, part: part)
            let (known, ghosts) = try makeStore(place + "/a", &random)
            try rob(place + "/a")
            var options = RepairOptions()
            options.asksSessions = asksSessions
            let report = try SampleStore.repair(at: place + "/a", to: place + "/b", options: options)
            #expect(report.check.isClean, "seed \(seed), store \(part)")
            let there = try values(place + "/b")
            if there == known { continue }
            let wrong = there.filter { known[$0.key] != $0.value }
            if !asksSessions { return part }
            let ghostly = wrong.keys.count { ghosts.contains($0) }
            #expect(wrong.isEmpty, "seed \(seed), store \(part): \(ghostly) ghosts of \(wrong.count)")
            #expect(report.isLossy, "seed \(seed), store \(part)")
            if !wrong.isEmpty { return part }
        }
        return nil
    }

    @Test("Where a page of a sound tree is lost, no value of a commit that was killed last comes in") func last() throws
    {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        for part in 0..<6 {
            let folder = TemporaryFolder()
            let place = folder.path + "/a"
            var random = SeededGenerator(seed: seed, part: part)
            var round = Round(values: [:], random: SeededGenerator(seed: random.next(), part: 0))
            var store = try open(place)
            for _ in 0..<3 { try round.write(to: store, samples: random.number(100..<300)) }
            try store.close()
            store = try open(place)
            let before = try metas(place)
            var killed = round
            try killed.write(to: store, samples: random.number(100..<300))
            try store.close()
            try put(before, place)
            var leaves: [UInt64] = []
            try PageListing.read(place, meta: nil) { list in
                try list.forEachPage { page in
                    if page.table == "chunks", page.kind == .leaf { leaves.append(page.number) }
                    return true
                }
            }
            let lost = try #require(leaves.randomElement(using: &random))
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: place + "/data.mdb"))
            try file.seek(toOffset: lost * UInt64(Self.pageSize))
            try file.write(contentsOf: Data(count: Self.pageSize))
            try file.close()
            let report = try SampleStore.repair(at: place, to: folder.path + "/b")
            let there = try values(folder.path + "/b")
            let wrong = there.count { round.values[$0.key] != $0.value }
            #expect(wrong == 0 && report.check.isClean, "seed \(seed), store \(part): \(wrong) of \(there.count)")
            #expect(there.count == round.values.count || report.isLossy, "seed \(seed), store \(part)")
        }
    }

    @Test("Without metas and branch pages no value of a commit that never happened comes in") func ghosts() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        #expect(try firstWrong(of: 8, seed: seed, asksSessions: true) == nil)
    }

    @Test("Without the rule of sessions such values come in, or hide others") func planted() throws {
        // One store of some comes out wrong.
        #expect(try firstWrong(of: 60, seed: .random(in: 0 ... .max), asksSessions: false) != nil)
    }
}
