import CPrefetch

/// Asks the processor to load bytes into its caches while the program continues.
///
/// Pages of the map lie far apart, so the processor does not predict the next page: a large part of the time to read
/// the next value is waiting for memory. The call is a hint and never faults.
@inlinable
public func prefetch(_ span: RawSpan, limit: Int = 4096) {
    // unsafe: the addresses are only hints and are not read.
    unsafe span.withUnsafeBytes { bytes in
        guard let base = bytes.baseAddress else { return }
        var offset = 0
        while offset < min(bytes.count, limit) {
            unsafe healthkv_prefetch(base + offset)
            offset += 64
        }
    }
}
