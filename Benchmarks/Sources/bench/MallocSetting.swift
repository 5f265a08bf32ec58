import CMalloc
import Foundation

/// Where glibc's malloc takes large arrays from. Any of these ends its habit of adapting itself, so they come after
/// other works.
enum MallocSetting {
    /// From the system, given back when freed: each page of an array is new to the process and zeroed at first touch.
    case freshPages
    /// From memory that was freed before, never given back.
    case recycledPages
    /// Near what malloc does by itself.
    case usual

    /// Gives all memory that was freed back to the system, so that what is asked for next shows.
    static func giveBack() {
        #if canImport(Glibc)
            malloc_trim(0)
        #endif
    }

    /// Says whether malloc could be told.
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
