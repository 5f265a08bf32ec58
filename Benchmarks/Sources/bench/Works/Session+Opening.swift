import Foundation
import HealthKV
import Histories

extension Session {
    /// Opens the store after a clean end, or after a process that wrote to it ended without closing it.
    func measureOpen(_ work: Work, times: Int) throws {
        note(work.rawValue)
        let before = try store.count()
        var latencies = Latencies()
        // At least five times, and more while a part of the budget lasts.
        while latencies.count < min(times, 5) || (latencies.count < times && latencies.seconds < settings.budget / 8) {
            try closeStore()
            if work == .openUnclean { try ContestantProcess.abandon(storeFolder, settings, name) }
            let from = Stopwatch.now()
            try openStore()
            let time = Stopwatch.now() - from
            latencies.add(store.ownTime ?? time)
        }
        guard try store.count() == before + (work == .openUnclean ? latencies.count : 0) else {
            throw BenchFailure("\(work.rawValue): samples are missing")
        }
        try send(work.rawValue, latencies)
    }

    /// Runs in a separate process: opens the store, saves a sample and ends at once.
    func abandonStore(_ path: String) throws {
        guard let store = try name.open(folder: path, hasIDs: true) else { return }
        let now = History.end + Int64.random(in: 0..<History.day)
        try store.save(Sample(.stepCount, 1, .count, at: now))
        _exit(0)
    }
}
