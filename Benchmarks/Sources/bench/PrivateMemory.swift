import Foundation
import Synchronization

/// Samples the anonymous memory of this process on a thread of its own and keeps the peak.
///
/// Mapped files are not private memory: they are the page cache's, which gives them up when asked. Linux only; elsewhere 0.
final class PrivateMemory: Sendable {
    private let peak = Atomic<Int>(0)
    private let isRunning = Atomic<Bool>(true)

    init() {
        peak.store(PrivateMemory.now(), ordering: .relaxed)
        Thread.detachNewThread { [self] in
            while isRunning.load(ordering: .relaxed) {
                peak.max(PrivateMemory.now(), ordering: .relaxed)
                usleep(5_000)
            }
        }
    }

    /// The peak in bytes since the start. Sampling ends.
    func stop() -> Int {
        isRunning.store(false, ordering: .relaxed)
        return max(peak.load(ordering: .relaxed), PrivateMemory.now())
    }

    /// Anonymous memory in bytes.
    static func now() -> Int {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
            let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        else { return 0 }
        return (Int(number) ?? 0) * 1024
    }
}
