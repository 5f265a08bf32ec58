import Foundation
import HealthKV
import TestSupport

/// Kills processes that repair a damaged store, at random moments. The original stays as it is, byte for byte, and the
/// new store is there whole or not at all; the next repair succeeds and leaves nothing behind.
struct RepairKills {
    private let share: JudgedShare
    /// Plants a fault: the killed process writes to the original, too.
    private let lies: Bool
    private var folder: String { share.folder }
    private var old: String { folder + "/old" }
    private var new: String { folder + "/new" }

    init(_ arguments: Arguments) throws {
        share = try JudgedShare("mended", arguments)
        lies = arguments.has("lie")
    }

    func judgeAll() throws {
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let base = try RepairBase(.mixed, seed: share.seed, folder: folder)
        var generator = SeededGenerator(seed: share.seed, part: 0)
        let damaged = RepairedDamage.metas.done(to: base, 0, &generator).bytes
        try RawFile(old + "/data.mdb").replace(with: damaged)
        for number in share.numbers {
            var generator = SeededGenerator(seed: share.seed, part: number)
            _ = share.judge(number) { try judge(base, damaged, &generator) }
        }
    }

    private func judge(
        _ base: RepairBase, _ damaged: [UInt8], _ generator: inout SeededGenerator
    ) throws -> String {
        let process = try WorkingProcess(
            ["mend", "--output", new] + (lies ? ["--lie"] : []), store: old, journal: folder + "/none")
        pause(microseconds: generator.number(0..<80_000))
        process.kill()
        _ = process.end()
        guard try RawFile.bytes(of: old + "/data.mdb") == damaged else { return "wrong_original_changed" }
        let isThere = FileManager.default.fileExists(atPath: new)
        // What a killed repair left is in the way of no other.
        if !isThere { _ = try SampleStore.repair(at: old, to: new, options: Vocabulary.repairOptions) }
        guard try RepairBase.samples(of: new) == base.states[0] else { return "wrong_content" }
        try FileManager.default.removeItem(atPath: new)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        guard names.filter({ $0 != "old" && $0 != "none" }).isEmpty || isThere else {
            return "wrong_leftovers_\(names.joined(separator: "_"))"
        }
        return isThere ? "right" : "partly"
    }
}

/// A process that repairs a store, to be killed.
enum RepairingProcess {
    static func run(_ arguments: Arguments) throws {
        let store = try arguments.text("store")
        if arguments.has("lie") { try RawFile(store + "/data.mdb").replace(with: [1, 2, 3]) }
        _ = try SampleStore.repair(
            at: store, to: try arguments.text("output"), options: Vocabulary.repairOptions)
    }
}
