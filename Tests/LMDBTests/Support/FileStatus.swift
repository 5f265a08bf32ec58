#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Permissions and size of a file.
func fileStatus(_ path: String) -> (mode: mode_t, size: Int)? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return (status.st_mode & 0o777, Int(status.st_size))
}
