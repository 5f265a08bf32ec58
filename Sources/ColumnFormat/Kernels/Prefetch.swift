import CPrefetch

/// Asks the processor to bring bytes into its caches while the program goes on with something else.
///
/// Pages of the map lie far apart, so the processor does not foresee the next one: a value that will be read next costs
/// a good part of its time in waiting for memory. It is a hint, and never faults.
@inlinable
public func prefetch(_ span: RawSpan, limit: Int = 4096) {
    // unsafe: addresses are only hinted at, not read.
    unsafe span.withUnsafeBytes { bytes in
        guard let base = bytes.baseAddress else { return }
        var offset = 0
        while offset < min(bytes.count, limit) {
            unsafe healthkv_prefetch(base + offset)
            offset += 64
        }
    }
}
