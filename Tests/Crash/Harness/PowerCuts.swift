import Foundation
import TestSupport

#if os(Linux)
    /// Cuts the power of a file system while processes work on its stores. The file system is ext4 on a loop device; an
    /// ioctl makes it discard everything that it has not written, and mounting it again replays its log.
    enum PowerCuts {
        /// The error that this machine does not allow power cuts.
        private static let notHere: Int32 = 75
        private static let cutsOfAStore = 10

        static func run(_ arguments: Arguments) throws {
            let count = Int(try arguments.number("count", default: 20))
            var generator = SeededGenerator(seed: try arguments.number("seed", default: 1))
            guard let disk = try LoopDisk(in: try arguments.text("scratch") + "/power") else {
                complain(
                    "No power cuts here: they need the superuser, mkfs.ext4, and loop devices that may be mounted.")
                exit(notHere)
            }
            defer { disk.remove() }
            let began = ContinuousClock.now
            var cuts = 0
            var failure: String?
            while cuts < count, failure == nil {
                let seed = generator.next() >> 16
                do {
                    try cut(disk, arguments.has("unsynced"), seed, &generator, &cuts, until: count)
                } catch let verdict as Verdict {
                    failure = "cut \(cuts), work --seed \(seed): \(verdict)"
                }
            }
            if let failure { complain(failure) }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            let rate = String(format: "%.1f", Double(cuts) / max(seconds, 0.001))
            print("cuts \(cuts) lost \(failure == nil ? 0 : 1) rate \(rate)")
            if failure != nil {
                disk.remove()
                exit(1)
            }
        }

        /// Cuts the power under one store several times; each process continues with the state that the previous one
        /// left.
        private static func cut(
            _ disk: LoopDisk, _ isUnsynced: Bool, _ seed: UInt64, _ generator: inout SeededGenerator, _ cuts: inout Int,
            until count: Int
        ) throws {
            try disk.mount()
            try? FileManager.default.removeItem(atPath: disk.store)
            try disk.unmount()
            var before = ContentDigest()
            for run in 0..<cutsOfAStore where cuts < count {
                try disk.mount()
                let journal = disk.folder + "/acks-\(run)"
                try? FileManager.default.removeItem(atPath: journal)
                let words =
                    ["work", "--seed", "\(seed &+ UInt64(run))", "--transactions", "1000000"]
                    + [isUnsynced ? "--unsynced" : "--replaces"]
                let process = try WorkingProcess(words, store: disk.store, journal: journal, isQuiet: true)
                process.wait(upTo: 120_000, &generator)
                try disk.cutPower(flushesLog: generator.chance(percent: 30))
                process.kill()
                _ = process.end()
                try disk.unmount()
                try disk.mount()
                var history = process.history
                history.before = before
                before = try Judge(folder: disk.store).judge(history, probe: Judge.probe(&generator))
                try disk.unmount()
                cuts += 1
            }
        }
    }

    /// A file with an ext4 file system, mounted through a loop device.
    struct LoopDisk {
        let folder: String
        private var image: String { folder + "/image" }
        private var place: String { folder + "/disk" }
        var store: String { place + "/store" }

        /// Creates the disk; `nil` if the machine does not allow it.
        init?(in folder: String) throws {
            self.folder = folder
            try FileManager.default.createDirectory(atPath: folder + "/disk", withIntermediateDirectories: true)
            let isMade =
                LoopDisk.call(["truncate", "-s", "128M", image]) && LoopDisk.call(["mkfs.ext4", "-q", image])
                && LoopDisk.call(["mount", "-o", "loop,noatime", image, place])
            let isCut = isMade && (try? cutPower(flushesLog: false)) != nil
            if isMade { try unmount() }
            guard isCut else {
                remove()
                return nil
            }
        }

        func mount() throws {
            guard LoopDisk.call(["mount", "-o", "loop,noatime", image, place]) else {
                throw Verdict(loss: .lost, detail: "the disk cannot be mounted")
            }
        }

        func unmount() throws {
            // A process that was just killed may hold a file for another moment.
            for _ in 0..<100 {
                if LoopDisk.call(["umount", place]) { return }
                pause(microseconds: 20_000)
            }
            throw Verdict(loss: .lost, detail: "the disk cannot be unmounted")
        }

        /// Shuts the file system down at once: nothing more is written, except its log if that is flushed.
        func cutPower(flushesLog: Bool) throws {
            let descriptor = unsafe open(place, O_RDONLY | O_DIRECTORY)
            defer { close(descriptor) }
            // EXT4_IOC_SHUTDOWN, with EXT4_GOING_FLAGS_LOGFLUSH or EXT4_GOING_FLAGS_NOLOGFLUSH.
            var flags: UInt32 = flushesLog ? 1 : 2
            guard unsafe ioctl(descriptor, 0x8004_587D, &flags) == 0 else {
                throw Verdict(loss: .lost, detail: "the power cannot be cut (errno \(errno))")
            }
        }

        func remove() {
            _ = LoopDisk.call(["umount", place])
            try? FileManager.default.removeItem(atPath: folder)
        }

        private static func call(_ words: [String]) -> Bool {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = words
            process.standardError = FileHandle.nullDevice
            guard (try? process.run()) != nil else { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        }
    }
#endif
