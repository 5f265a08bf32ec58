#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file descriptor of the process: the one place where the tool calls the system.
///
/// Each `unsafe` hands the system a buffer that Swift owns, with its true length, for the time of the call.
struct Descriptor {
    let number: Int32

    static let input = Descriptor(number: STDIN_FILENO)
    static let output = Descriptor(number: STDOUT_FILENO)
    static let error = Descriptor(number: STDERR_FILENO)

    /// Opens a file for reading.
    static func reading(_ path: String) throws -> Descriptor {
        let number = unsafe path.withCString { name in
            unsafe open(name, O_RDONLY | O_CLOEXEC)
        }
        guard number >= 0 else { throw Failure("The file \(path) cannot be read: \(reason(errno)).") }
        return Descriptor(number: number)
    }

    var isTerminal: Bool { isatty(number) == 1 }

    /// Columns of the terminal, 80 where it does not say.
    var width: Int {
        var size = winsize()
        let known = unsafe ioctl(number, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return known ? Int(size.ws_col) : 80
    }

    /// Bytes of the file, where it is one.
    var size: Int? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    /// Writes all of it.
    func send(_ bytes: [UInt8]) throws {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
                return unsafe write(number, rest.baseAddress, rest.count)
            }
            if count >= 0 {
                done += count
            } else if errno == EPIPE {
                throw OutputClosed()
            } else if errno != EINTR {
                throw Failure("The output cannot be written: \(Descriptor.reason(errno)).")
            }
        }
    }

    /// Reads what is there into `buffer` from `offset` on; 0 at the end.
    func receive(into buffer: inout [UInt8], from offset: Int) throws -> Int {
        while true {
            try waitForInput()
            let count = unsafe buffer.withUnsafeMutableBytes { buffer in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[offset...])
                return unsafe read(number, rest.baseAddress, rest.count)
            }
            if count >= 0 { return count }
            if errno != EINTR { throw Failure("The input cannot be read: \(Descriptor.reason(errno)).") }
        }
    }

    /// Waits until there is something to read. A signal may go to any thread, so this one looks for it now and then.
    private func waitForInput() throws {
        var question = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        repeat { try Interruption.check() } while unsafe poll(&question, 1, 100) == 0
    }

    private static func reason(_ code: Int32) -> String {
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}

/// Whoever reads our output has seen enough.
struct OutputClosed: Error {}

/// Signals of the process.
enum Signals {
    /// A closed pipe becomes an error of `write`; the first Ctrl-C asks the work to stop, the second one ends the process.
    static func install() {
        _ = signal(SIGPIPE, SIG_IGN)
        for number in [SIGINT, SIGTERM] {
            var action = sigaction()
            #if canImport(Darwin)
                unsafe action.__sigaction_u.__sa_handler = { _ in Interruption.request() }
            #else
                unsafe action.__sigaction_handler.sa_handler = { _ in Interruption.request() }
            #endif
            action.sa_flags = Int32(bitPattern: UInt32(truncatingIfNeeded: SA_RESETHAND))
            _ = unsafe sigaction(number, &action, nil)
        }
    }
}
