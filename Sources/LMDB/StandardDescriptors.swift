#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The descriptors of input, output and errors.
///
/// A program that was started without one of them gives its number to the next file that it opens. If that is a data
/// file, everything that some part of the program says to its user is written over the first page of the store.
public enum StandardDescriptors {
    /// Opens the null device in place of each one that is closed. It can only be read, so that writing there fails as
    /// before.
    public static func reserve() {
        for number: Int32 in 0...2 where fcntl(number, F_GETFD) == -1 {
            let opened = openNull()
            // Another thread may have taken the number meanwhile.
            if opened > 2 { close(opened) }
        }
    }
}

// unsafe: the path becomes a C string for the call.
private func openNull() -> Int32 { unsafe open("/dev/null", O_RDONLY) }
