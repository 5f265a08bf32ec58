#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file written by plain system calls, so that a killed process leaves all its writes, in order.
final class RawFile: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ call: String, _ path: String) { description = "\(call) \(path): error \(errno)" }
    }

    let path: String
    private let descriptor: Int32

    /// - Parameter appends: whether each write appends, in one call.
    init(_ path: String, appends: Bool = false, creates: Bool = true) throws {
        self.path = path
        let flags = O_RDWR | O_CLOEXEC | (creates ? O_CREAT : 0) | (appends ? O_APPEND : 0)
        // unsafe: here and below, C reads or fills the given memory only during the call.
        descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0 else { throw Failure("open", path) }
    }

    deinit { close(descriptor) }

    func append(_ text: String) throws {
        var text = text
        let written = text.withUTF8 { unsafe write(descriptor, $0.baseAddress, $0.count) }
        guard written == text.utf8.count else { throw Failure("write", path) }
    }

    /// Replaces the whole content of the file.
    func replace(with bytes: [UInt8]) throws {
        let written = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        guard written == bytes.count, ftruncate(descriptor, off_t(bytes.count)) == 0 else {
            throw Failure("pwrite", path)
        }
    }

    static func bytes(of path: String) throws -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("open", path) }
        defer { close(descriptor) }
        let size = Int(lseek(descriptor, 0, SEEK_END))
        var failed = size < 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: max(0, size)) { buffer, count in
            while !failed, count < size {
                let got = unsafe pread(descriptor, buffer.baseAddress! + count, size - count, off_t(count))
                failed = got <= 0
                count += max(0, got)
            }
        }
        if failed { throw Failure("read", path) }
        return bytes
    }
}

/// Blocks the calling thread for a while.
func pause(microseconds: Int) { usleep(UInt32(microseconds)) }
