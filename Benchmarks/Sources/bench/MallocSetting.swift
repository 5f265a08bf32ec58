import CMalloc
import Foundation

/// How glibc's malloc allocates large arrays. Every setting disables its automatic adaptation, so apply them after the
/// other works.
enum MallocSetting {
    /// From the system, and returned to it: each page of an array is new to the process and zeroed at first touch.
    case freshPages
    /// From memory that was freed before, which is never returned.
    case recycledPages
    /// Similar to the automatic setting.
    case usual

    /// Returns all freed memory to the system, so that later allocations are visible.
    static func giveBack() {
        #if canImport(Glibc)
            malloc_trim(0)
        #endif
    }

    /// Returns `false` if malloc has no such settings.
    static func set(_ setting: MallocSetting) -> Bool {
        #if canImport(Glibc)
            switch setting {
            case .freshPages:
                mallopt(M_MMAP_MAX, Int32.max)
                mallopt(M_MMAP_THRESHOLD, 128 << 10)
                mallopt(M_TRIM_THRESHOLD, 128 << 10)
            case .recycledPages:
                mallopt(M_MMAP_MAX, 0)
                mallopt(M_TRIM_THRESHOLD, Int32.max)
            case .usual:
                mallopt(M_MMAP_MAX, 65_536)
                mallopt(M_MMAP_THRESHOLD, 32 << 20)
                mallopt(M_TRIM_THRESHOLD, 64 << 20)
            }
            return true
        #else
            return false
        #endif
    }
}
