import Foundation
import Synchronization

/// Samples the anonymous memory of this process in a separate thread and keeps the peak.
///
/// Mapped files are not private memory: they belong to the page cache, which can drop them. Linux only; elsewhere 0.
final class PrivateMemory: Sendable {
    private let peak = Atomic<Int>(0)
    private let process: Int32
    private let isRunning = Atomic<Bool>(true)
    private let worked = Atomic<UInt64>(0)

    init(of process: Int32) {
        self.process = process
        // Resets the kernel's peak.
        try? "5".write(toFile: "/proc/\(process)/clear_refs", atomically: false, encoding: .utf8)
        peak.store(PrivateMemory.now(of: process), ordering: .relaxed)
        Thread.detachNewThread { [self] in
            while isRunning.load(ordering: .relaxed) {
                peak.max(PrivateMemory.now(of: process), ordering: .relaxed)
                worked.store(ProcessorTime.ofThread(), ordering: .relaxed)
                usleep(5_000)
            }
        }
    }

    /// The peak of anonymous memory until now, in bytes.
    var peakSoFar: Int { peak.load(ordering: .relaxed) }

    /// The processor time that the sampling has taken, in nanoseconds.
    var processorTime: UInt64 { worked.load(ordering: .relaxed) }

    /// Stops sampling. Returns the peaks of anonymous memory and of all mapped memory since the start, in bytes.
    func stop() -> (anonymous: Int, resident: Int) {
        isRunning.store(false, ordering: .relaxed)
        let last = PrivateMemory.now(of: process)
        return (max(peak.load(ordering: .relaxed), last), PrivateMemory.status(process, "VmHWM:"))
    }

    /// Anonymous memory in bytes.
    static func now(of process: Int32) -> Int { status(process, "RssAnon:") }

    private static func status(_ process: Int32, _ field: String) -> Int {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix(field) }),
            let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        else { return 0 }
        return (Int(number) ?? 0) * 1024
    }

    /// The bytes that the system has written to disk for a process. Linux only; elsewhere 0.
    static func written(by process: Int32) -> Int {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/io", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("write_bytes:") }),
            let number = line.split(separator: " ").last
        else { return 0 }
        return Int(number) ?? 0
    }
}
