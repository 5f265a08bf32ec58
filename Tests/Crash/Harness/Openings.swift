import Foundation
import HealthKV
import Synchronization
import TestSupport

/// Several processes start on one folder at the same moment. Each creates or opens the store, writes, sometimes puts a
/// compacted file in its place, closes it and starts over, and kills itself at a random moment. A process that lives
/// must get the store, or an error that the store is busy, which must be rare. Everything acknowledged must be in the
/// store when all processes have ended.
enum Openings {
    /// The number of concurrent processes per folder, and the number of deaths before the next folder.
    private static let workers = 4
    private static let deaths = 8
    private static let patience: Duration = .seconds(60)
    /// Of so many openings that ended with the store or an error, one may have ended with the error that it is busy.
    private static let openingsPerBusy = 4

    private static func options(_ arguments: Arguments) -> SampleStore.Options {
        var options = Vocabulary.options(maintains: false)
        // Another planted fault: openings do not exclude each other. It takes some thousand kills to show.
        options.limits.opensTogether = arguments.has("together")
        return options
    }

    // MARK: One of the processes

    static func work(_ arguments: Arguments) throws {
        let folder = try arguments.text("store")
        let name = try arguments.number("worker", default: 0)
        var generator = SeededGenerator(seed: try arguments.number("seed", default: 1), part: Int(name))
        let journal = try RawFile(try arguments.text("acks"), appends: true)
        let refusals = try RawFile(try arguments.text("acks") + busySuffix, appends: true)
        let (options, clock, lies) = (options(arguments), ContinuousClock(), arguments.has("lie"))
        var usual: Duration = .milliseconds(4)
        var number = 0
        // Runs until the process is killed.
        while true {
            if number > 0 || generator.chance(percent: 50) {
                let microseconds = Int(usual / .microseconds(1))
                dieAfter(
                    microseconds: generator.number(0..<max(1, microseconds)) * (number > 0 ? 4 : 2),
                    generator.chance(percent: 40))
            }
            let began = clock.now
            do {
                let store = try SampleStore.open(at: folder, options: options)
                usual = min(.milliseconds(20), (usual + (clock.now - began)) / 2)
                let sample = sample("\(name)-\(number)")
                // The planted fault: acknowledges before the sample is stored.
                if lies { try journal.append("\(name)-\(number)\n") }
                try store.write { _ = try $0.save(sample) }
                if !lies { try journal.append("\(name)-\(number)\n") }
                if generator.chance(percent: 30) { try store.compactInPlace() }
                try store.close()
            } catch let error as StoreError where error.code == .busy {
                // Other processes are opening the store; try again.
                try refusals.append("\(name)-\(number)\n")
            }
            if clock.now - began > patience {
                throw Verdict(loss: .unwritable, detail: "an opening took \(clock.now - began)")
            }
            number += 1
        }
    }

    /// What the name of the file of refused openings has beyond that of the acknowledged ones.
    private static let busySuffix = ".busy"

    private static func sample(_ name: String) -> Sample {
        let start = Instant(nanoseconds: Int64(Vocabulary.epoch) * Instant.nanosecondsPerSecond)
        return Sample(
            .stepCount, 1, .count, from: start, to: start, source: Vocabulary.ownSource, syncIdentifier: name)
    }

    /// Schedules the death of the process as in a crash, at a moment independent of its work.
    private static func dieAfter(microseconds: Int, _ dies: Bool) {
        guard dies else { return }
        Thread {
            pause(microseconds: microseconds)
            kill(getpid(), SIGKILL)
        }.start()
    }

    // MARK: All of them

    static func run(_ arguments: Arguments) throws {
        let scratch = try arguments.text("scratch")
        let count = Int(try arguments.number("count", default: 200))
        var generator = SeededGenerator(seed: try arguments.number("seed", default: 1))
        let began = ContinuousClock.now
        var (kills, folders, opened, busy) = (0, 0, 0, 0)
        while kills < count {
            let place = "\(scratch)/openings-\(folders)"
            // Files of an earlier run would acknowledge other samples.
            try? FileManager.default.removeItem(atPath: place)
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            var run = OpeningRun(
                place: place, seed: generator.next() >> 16, faults: ["lie", "together"].filter(arguments.has))
            do {
                kills += try run.work(workers, deaths, patience)
                let ends = try judge(place, options(arguments))
                (opened, busy) = (opened + ends.opened, busy + ends.busy)
            } catch {
                // Keep the folder for inspection.
                print("openings kills \(kills) folders \(folders) failed 1")
                complain("\(place), seed \(run.seed): \(error)")
                exit(1)
            }
            try FileManager.default.removeItem(atPath: place)
            folders += 1
        }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        let isPatient = busy * openingsPerBusy <= opened + busy
        print(
            "openings kills \(kills) folders \(folders) opened \(opened) busy \(busy) failed \(isPatient ? 0 : 1) "
                + "rate \(Int(Double(kills) / max(seconds, 0.001)))")
        guard isPatient else {
            complain("of \(opened + busy) openings, \(busy) ended with the error that the store is busy")
            exit(1)
        }
    }

    /// Returns how many openings ended with the store, and how many with the error that it is busy.
    private static func judge(_ place: String, _ options: SampleStore.Options) throws -> (opened: Int, busy: Int) {
        let store = try SampleStore.open(at: place + "/store", options: options)
        let found = try store.read { Set(try $0.samples(of: .stepCount).compactMap(\.syncIdentifier)) }
        let report = try store.check()
        try store.close()
        func lines(_ path: String) throws -> [String] {
            String(decoding: try RawFile.bytes(of: path), as: UTF8.self).split(separator: "\n").map(String.init)
        }
        let acknowledged = try lines(place + "/acks")
        let lost = acknowledged.filter { !found.contains($0) }
        guard lost.isEmpty else {
            throw Verdict(loss: .lost, detail: "\(lost.count) of \(acknowledged.count) are lost")
        }
        guard report.isClean else { throw Verdict(loss: .half, detail: "check finds \(report.findings)") }
        let names = try FileManager.default.contentsOfDirectory(atPath: place + "/store").sorted()
        let own: Set = ["data.mdb", "lock.mdb", "closed.stamp", "data.journal"]
        guard own.isSuperset(of: names) else { throw Verdict(loss: .half, detail: "the folder holds \(names)") }
        return (acknowledged.count, try lines(place + "/acks" + busySuffix).count)
    }
}

/// The processes of one folder.
private struct OpeningRun {
    let place: String
    let seed: UInt64
    let faults: [String]
    private var started = 0

    init(place: String, seed: UInt64, faults: [String]) {
        self.place = place
        self.seed = seed
        self.faults = faults
    }

    private struct Worker {
        let process: Process
        let complaints: Pipe
        let began = ContinuousClock.now
    }

    /// Returns the number of processes that were killed, by themselves or at the end.
    mutating func work(_ count: Int, _ deaths: Int, _ patience: Duration) throws -> Int {
        var workers = try (0..<count).map { _ in try start() }
        defer { for worker in workers { kill(worker.process.processIdentifier, SIGKILL) } }
        var killed = 0
        while killed < deaths {
            pause(microseconds: 500)
            for index in workers.indices where !workers[index].process.isRunning {
                try judge(workers[index])
                killed += 1
                workers[index] = try start()
            }
            if let late = workers.first(where: { ContinuousClock.now - $0.began > patience * 2 }) {
                throw Verdict(loss: .unwritable, detail: "process \(late.process.processIdentifier) hangs")
            }
        }
        for worker in workers {
            kill(worker.process.processIdentifier, SIGKILL)
            worker.process.waitUntilExit()
            try judge(worker)
        }
        return killed + workers.count
    }

    private mutating func start() throws -> Worker {
        let worker = Worker(process: Process(), complaints: Pipe())
        worker.process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        worker.process.arguments =
            [
                "opening", "--store", place + "/store", "--acks", place + "/acks", "--worker", "\(started)",
                "--seed", "\(seed)",
            ] + faults.map { "--" + $0 }
        worker.process.standardError = worker.complaints
        try worker.process.run()
        started += 1
        return worker
    }

    /// Checks that the process ended only by the signal that it sent itself.
    private func judge(_ worker: Worker) throws {
        worker.process.waitUntilExit()
        let (reason, status) = (worker.process.terminationReason, worker.process.terminationStatus)
        guard reason != .uncaughtSignal || status != SIGKILL else { return }
        let words = (try? worker.complaints.fileHandleForReading.readToEnd()).flatMap { $0 } ?? Data()
        throw Verdict(
            loss: .unwritable, detail: "a process ended with \(status): \(String(decoding: words, as: UTF8.self))")
    }
}
