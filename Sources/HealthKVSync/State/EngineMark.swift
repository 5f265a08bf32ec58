#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV

/// Where an engine runs, so that other engines on the same device can tell whether it is gone.
struct EngineMark: Codable, Sendable, Equatable {
    /// The space that the process number belongs to: a container numbers its own processes.
    var space: String
    var process: Int32
    /// When the process began to sync, in nanoseconds: the number of an ended process is given to another one.
    var start: Int64
    /// The number of the engine in its process.
    var engine: UInt64

    static var ownSpace: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/pid")) ?? ""
    }
}
