import Foundation
import HealthKV
import TestSupport

/// The files that one of several processes judges, and where it works.
struct JudgedShare {
    let folder: String
    let seed: UInt64
    private let (first, last): (Int, Int)
    private let (shard, shards): (Int, Int)
    private let kept: String

    /// The seconds of processor time that count as a hang. Other work on the machine does not lengthen them.
    private static let patience = 20
    /// The limit in seconds of wall-clock time, for calls that wait without computing.
    private static let sleepPatience: UInt32 = 300

    init(_ name: String, _ arguments: Arguments) throws {
        shard = Int(try arguments.number("shard", default: 0))
        shards = Int(try arguments.number("shards", default: 1))
        folder = try arguments.text("scratch") + "/\(name)-\(shard)"
        seed = try arguments.number("seed", default: 1)
        first = Int(try arguments.number("from", default: 0))
        last = Int(try arguments.number("count", default: 1_000))
        kept = arguments.text("keep", default: "")
    }

    var numbers: [Int] { (first..<max(first, last)).filter { $0 % shards == shard } }

    /// Prints the number of a case, and arms the timers that end the process if the case takes too long.
    func begin(_ number: Int) {
        say("at \(number)")
        ProcessorTime.limit(seconds: JudgedShare.patience, wallSeconds: JudgedShare.sleepPatience)
    }

    /// Judges one case, which a signal may end, and prints its result. An error is a finding.
    func judge(_ number: Int, _ words: String = "", _ body: () throws -> String) -> String {
        begin(number)
        let result: String
        do { result = try body() } catch { result = "wrong_\(error)" }
        let told = result.replacing(" ", with: "_")
        say([told, "\(number)", words].filter { !$0.isEmpty }.joined(separator: " "))
        return told
    }

    /// Keeps a file whose result is a finding.
    func keep(_ number: Int, _ bytes: [UInt8], _ result: String) throws {
        let isFine = ["right", "refused", "partly"].contains { result.hasPrefix($0) }
        if kept.isEmpty || isFine { return }
        try FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: true)
        try RawFile(kept + "/\(number).mdb").replace(with: bytes)
    }
}

/// Judges damaged files one after the other, in a process that a signal may end. The line printed before each file
/// identifies the file.
struct DamageRun {
    private let share: JudgedShare
    private let isUnwalked: Bool
    private let isForged: Bool
    private let kinds: [Damage]
    private let content: DamagedBase.Content?
    private var folder: String { share.folder }

    init(_ arguments: Arguments) throws {
        share = try JudgedShare("damage", arguments)
        isUnwalked = arguments.has("unwalked")
        isForged = arguments.has("forged")
        // Only chunks of full size have pages of their own to forge.
        content = isForged ? .large : DamagedBase.Content(rawValue: arguments.text("content", default: ""))
        kinds = arguments.has("kind") ? [Damage(rawValue: try arguments.text("kind"))!] : Damage.allCases
    }

    /// A base and the answers of its newest states. The state before the newest is legal when damage reverts only a
    /// meta page: the file then looks as if the last commit had never happened.
    private struct Known {
        let base: DamagedBase
        let questions: Questions
        let answers: [[String: Int?]]
    }

    func judgeAll() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var known: [DamagedBase.Content: [Known]] = [:]
        for content in DamagedBase.Content.allCases where self.content == nil || self.content == content {
            // Use several bases of the most frequent kind.
            known[content] = try (0..<(content == .mixed ? 4 : 1)).map { number in
                let base = try DamagedBase(content, seed: share.seed &+ UInt64(number), folder: folder)
                let questions = Questions(ids: base.ids, deleted: base.deleted)
                return Known(
                    base: base, questions: questions,
                    answers: try base.states.prefix(2).map { try Self.sure(try answers($0, questions)) })
            }
        }
        for number in share.numbers {
            var generator = SeededGenerator(seed: share.seed, part: number)
            let content = content ?? DamageRun.content(&generator)
            let known = known[content]!.randomElement(using: &generator)!
            let damage = kinds.randomElement(using: &generator)!
            let bytes =
                isForged ? Forgery.forge(known.base.states[0], &generator) : damage.done(to: known.base, &generator)
            share.begin(number)
            let result = try judge(bytes, known, &generator)
            say("\(result) \(number) \(content.rawValue) \(damage.rawValue)")
            try share.keep(number, bytes, result)
        }
    }

    private static func content(_ generator: inout SeededGenerator) -> DamagedBase.Content {
        var left = generator.number(0..<100)
        for content in DamagedBase.Content.allCases {
            if left < content.share { return content }
            left -= content.share
        }
        return .mixed
    }

    private static func sure(_ answers: [String: Int?]?) throws -> [String: Int?] {
        guard let answers, answers.values.allSatisfy({ $0 != nil }) else {
            throw Mismatch("a sound store", store: "errors", model: "answers")
        }
        return answers
    }

    private var options: SampleStore.Options {
        var options = Vocabulary.options(maintains: false)
        options.createIfMissing = false
        options.idlePeriod = .zero
        options.limits.skipsWalk = isUnwalked
        return options
    }

    /// The answers of a damaged file; `nil` if the store refuses it.
    private func answers(_ bytes: [UInt8], _ questions: Questions) throws -> [String: Int?]? {
        try RawFile(folder + "/data.mdb").replace(with: bytes)
        do {
            let store = try SampleStore.open(at: folder, options: options)
            defer { try? store.close() }
            return try questions.ask(store)
        } catch is StoreError {
            return nil
        }
    }

    private func judge(_ bytes: [UInt8], _ known: Known, _ generator: inout SeededGenerator) throws -> String {
        let found = try answers(bytes, known.questions)
        if generator.chance(percent: 10) {
            let report = try SampleStore.check(at: folder, sealer: Vocabulary.sealer)
            if found == nil, report.isClean { return "unseen" }
        }
        guard let found else { return "refused" }
        let given = found.filter { $0.value != nil }
        let isRight = known.answers.contains { legal in given.allSatisfy { legal[$0.key] == $0.value } }
        if !isRight {
            let wrong = given.filter { known.answers[0][$0.key] != $0.value }.keys.sorted()
            return "wrong (\(wrong.joined(separator: ", ")))".replacingOccurrences(of: " ", with: "_")
        }
        if generator.chance(percent: 25) { write(&generator) }
        return given.count == found.count ? "right" : "partly"
    }

    /// Writes to a damaged store, which is legal until the damage is detected. Each call must end, whatever its result.
    private func write(_ generator: inout SeededGenerator) {
        guard let store = try? SampleStore.open(at: folder, options: options) else { return }
        let sample = Vocabulary.sample(&generator, model: Model())
        _ = try? store.write { try $0.save(sample) }
        _ = try? store.write { try $0.delete(id: sample.id) }
        _ = try? store.maintain(budget: .milliseconds(2))
        try? store.close()
    }
}
