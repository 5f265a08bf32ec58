import ColumnFormat
import Foundation
import TestSupport

/// Judges forged files one after the other, in a process that a fault may end. The line printed before each file
/// identifies the file.
struct ForgingRun {
    private let folder: String
    private let seed: UInt64
    private let numbers: Range<Int>
    private let shard: Int
    private let shards: Int
    private let keep: String
    private let table: TableCode?
    private let isTrusting: Bool
    private let isTalking: Bool

    /// The processor time after which a file counts as slow, and the seconds after which the process is ended.
    private static let patience = Duration.seconds(1)
    private static let lastPatience = 2
    /// The limit in seconds of wall-clock time, for calls that wait without computing.
    private static let sleepPatience: UInt32 = 60
    /// The memory that the process may use beyond its program and the maps of files.
    private static let memory = 512 << 20

    init(_ arguments: Arguments) throws {
        shard = Int(try arguments.number("shard", default: 0))
        shards = Int(try arguments.number("shards", default: 1))
        folder = try arguments.text("scratch") + "/forging-\(shard)"
        seed = try arguments.number("seed", default: 1)
        let first = Int(try arguments.number("from", default: 0))
        numbers = first..<max(first, Int(try arguments.number("count", default: 1_000)))
        keep = arguments.text("keep", default: "")
        table = TableCode(name: arguments.text("table", default: ""))
        isTrusting = arguments.has("trusting")
        isTalking = arguments.has("talking")
    }

    func judgeAll() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var limit = rlimit(rlim_cur: rlim_t(ForgingRun.memory), rlim_max: rlim_t(ForgingRun.memory))
        // unsafe: C reads the limit during the call.
        _ = unsafe setrlimit(ForgingRun.data, &limit)
        var bases: [Int: ForgingBase] = [:]
        for number in numbers where number % shards == shard {
            var generator = SeededGenerator(seed: seed, part: number)
            let choice = generator.number(0..<ForgingBase.count)
            if bases[choice] == nil {
                bases[choice] = try ForgingBase.drawn(choice, seed: seed, folder: folder + "/base")
            }
            judge(number, bases[choice]!, generator)
        }
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func judge(_ number: Int, _ base: ForgingBase, _ generator: SeededGenerator) {
        var generator = generator
        var mutation = Mutation(base.rows, SeededGenerator(seed: generator.next()), table: table)
        mutation.draw()
        say("at \(number) \(mutation.words.joined(separator: " "))")
        do {
            try RawFile(folder + "/data.mdb").replace(with: base.bytes)
            try StoredRows.write(mutation.changes, to: folder)
            if !keep.isEmpty { try keepFile(number) }
        } catch {
            // A change that LMDB itself refuses cannot occur in a file either.
            return say("right \(number)")
        }
        ProcessorTime.limit(seconds: ForgingRun.lastPatience, wallSeconds: ForgingRun.sleepPatience)
        let began = ProcessorTime.ofProcess
        if isTrusting { TrustingReader.read(mutation.changes) }
        var file = ForgedFile(folder: folder, names: base.names, generator: generator)
        file.exercise()
        let taken = ProcessorTime.ofProcess - began
        if isTalking { complain("\(number): \(taken) \(mutation.words.joined(separator: " "))") }
        if file.isEndless { return say("slow \(number) for ever: upkeep does not end") }
        say(taken > ForgingRun.patience ? "slow \(number) \(taken)" : "right \(number)")
        say("met \(number) \(file.outcomes.words.joined(separator: " "))")
    }

    private func keepFile(_ number: Int) throws {
        try FileManager.default.createDirectory(atPath: keep, withIntermediateDirectories: true)
        try RawFile(keep + "/\(number).mdb").replace(with: RawFile.bytes(of: folder + "/data.mdb"))
    }

    #if canImport(Glibc)
        private static let data = __rlimit_resource_t(RLIMIT_DATA.rawValue)
    #else
        private static let data = RLIMIT_DATA
    #endif
}
