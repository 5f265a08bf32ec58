import Foundation
import HealthKV
import TestSupport

/// Builds the files that a crash at each moment of a recorded run may leave, and judges each file.
struct ImageRun {
    private let timeline: Timeline
    private let seed: UInt64
    private let count: Int
    private let shard: Int
    private let shards: Int
    private let first: Int
    private let folder: String
    private let keep: String
    private let keepsGoing: Bool
    private let job: String?
    private let base: StoreDisk

    init(_ arguments: Arguments) throws {
        timeline = try Timeline(arguments)
        base = try arguments.has("base") ? StoreDisk(base: StoreDisk.Image(at: arguments.text("base"))) : StoreDisk()
        seed = try arguments.number("seed", default: 1)
        count = Int(try arguments.number("count", default: 1_000))
        shard = Int(try arguments.number("shard", default: 0))
        shards = Int(try arguments.number("shards", default: 1))
        first = Int(try arguments.number("from", default: 0))
        folder = try arguments.text("scratch") + "/image-\(shard)"
        keep = arguments.text("keep", default: "")
        keepsGoing = arguments.has("keep-going")
        job = arguments.has("import") ? ImportHistory.job : nil
    }

    /// The moments to build images for: after each event that changes the disk, with all journal lines before the next.
    private var moments: [Int] {
        timeline.events.indices.filter { timeline.events[$0].changesDisk }
    }

    /// The number of images of each moment: one of the written state, and more where a power cut has several outcomes.
    private func shares(_ moments: [Int]) -> [Int] {
        var disk = base
        let isOpen = moments.map { moment in
            disk.apply(timeline.events[moment])
            return disk.isOpen
        }
        let open = isOpen.count { $0 }
        let left = max(0, count - moments.count)
        var given = 0
        return isOpen.map { isOpen in
            guard isOpen else { return 1 }
            given += 1
            return 1 + left * given / open - left * (given - 1) / open
        }
    }

    func judgeAll() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let moments = moments
        let shares = shares(moments)
        var disk = base
        var history = timeline.history
        // The run began with the state that an earlier crash had left.
        if base.isNamed, let first = history.contents.first { history.before = first }
        var next = 0
        for (number, moment) in moments.enumerated() {
            while next <= moment {
                advance(next, &disk, &history)
                next += 1
            }
            let told = number + 1 < moments.count ? moments[number + 1] : timeline.events.count
            while next < told {
                advance(next, &disk, &history)
                next += 1
            }
            guard number >= first, number % shards == shard else { continue }
            say("at \(number) \(shares[number])")
            for pick in 0..<shares[number] {
                var generator = SeededGenerator(seed: seed, part: number << 20 + pick)
                let image = pick == 0 ? disk.whole : disk.cut(&generator)
                try judge(image, history, "moment \(number) pick \(pick)", &generator)
            }
        }
    }

    private func advance(_ event: Int, _ disk: inout StoreDisk, _ history: inout History) {
        disk.apply(timeline.events[event])
        if case .line(let line) = timeline.events[event] { history.note(line) }
    }

    private func judge(
        _ image: StoreDisk.Image, _ history: History, _ name: String, _ generator: inout SeededGenerator
    ) throws {
        let path = folder + "/data.mdb"
        try image.write(to: path)
        do {
            try Judge(folder: folder, job: job).judge(history, probe: Judge.probe(&generator))
        } catch let verdict as Verdict {
            say("loss \(name): \(verdict)")
            if !keep.isEmpty {
                try FileManager.default.createDirectory(atPath: keep, withIntermediateDirectories: true)
                try image.write(to: keep + "/" + name.replacingOccurrences(of: " ", with: "-") + ".mdb")
            }
            if !keepsGoing { exit(1) }
        }
    }
}

extension Timeline {
    init(_ arguments: Arguments) throws {
        try self.init(RecordedLog(path: arguments.text("log")), path: arguments.text("store") + "/data.mdb")
    }

    /// Writes one file that a power cut at a random moment may leave.
    static func cut(_ arguments: Arguments) throws {
        let timeline = try Timeline(arguments)
        var generator = SeededGenerator(seed: try arguments.number("seed", default: 1), part: 0)
        var disk = StoreDisk()
        // Cut in the second half of the run, so that the file has enough content to continue with.
        for event in timeline.events.prefix(generator.number(timeline.events.count / 2..<timeline.events.count)) {
            disk.apply(event)
        }
        var image = disk.cut(&generator)
        image.data = image.data ?? disk.data.durable
        try image.write(to: try arguments.text("output"))
    }
}
