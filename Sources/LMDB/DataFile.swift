#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A data file read by ordinary reads, without locks: for where the lock file cannot be used.
public struct DataFile: ~Copyable {
    /// What the two meta pages say together.
    public struct Metas: Sendable, Equatable {
        public var pageSize: Int
        public var newestTransaction: UInt64
        public var lastPage: Int
        /// The size of the map that the last writer had.
        public var mapSize: Int
    }

    /// How a copy of a snapshot went.
    public enum CopyOutcome: Sendable, Equatable {
        case copied
        /// A writer was at work all the time.
        case busy
        /// A call of the system that writes the copy failed, with this code.
        case failed(Int32)
        /// The system cannot read the file, with this code.
        case unreadable(Int32)
        case invalid
    }

    private let descriptor: Int32

    /// Opens a regular file for reading; `nil` when that fails, with the reason in `errno`.
    public init?(_ path: String) {
        descriptor = FileSystem.openRegular(path)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Reads the metas; `nil` when they are not those of LMDB.
    public func metas() -> Metas? {
        guard let first = meta(at: 0), let second = meta(at: first.pageSize) else { return nil }
        return first.newestTransaction > second.newestTransaction ? first : second
    }

    private func meta(at offset: Int) -> Metas? {
        var bytes = [UInt8](repeating: 0, count: 152)
        guard read(&bytes, at: offset) == bytes.count else { return nil }
        func word(_ at: Int) -> UInt64 { (0..<8).reduce(0) { $0 | UInt64(bytes[at + $1]) << UInt64(8 * $1) } }
        // A page's header of 16 bytes; magic, version, address, map size, two tables of 48 bytes, last page, transaction.
        let magic = word(16) & 0xFFFF_FFFF
        let pageSize = Int(word(40) & 0xFFFF_FFFF)
        guard magic == 0xBEEF_C0DE, pageSize >= 256, pageSize <= 65_536, let lastPage = Int(exactly: word(136)),
            let mapSize = Int(exactly: word(32))
        else { return nil }
        return Metas(pageSize: pageSize, newestTransaction: word(144), lastPage: lastPage, mapSize: mapSize)
    }

    /// Answers how many bytes there are, or less than zero when the system cannot read them: `errno` with its sign turned.
    func read(_ bytes: inout [UInt8], at offset: Int) -> Int {
        var done = 0
        while done < bytes.count {
            // unsafe: C fills at most what is left of the array, during the call.
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe pread(descriptor, $0.baseAddress! + done, $0.count - done, off_t(offset + done))
            }
            if count < 0, errno == EINTR { continue }
            if count < 0 { return -Int(errno) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Copies the last committed state to a new file that only its owner may read.
    ///
    /// A writer reuses no page of a snapshot before the second commit after it: those that the next commit frees become
    /// free only then. So a copy is whole if the newest transaction is at most one further when it ends. Otherwise it is
    /// made again. The metas are those from before: the page of a later one may lie behind the end of the copy, where a read
    /// through the map would end the process.
    public func copySnapshot(to target: String, attempts: Int) -> CopyOutcome {
        for attempt in 0..<attempts {
            if attempt > 0 { pause(milliseconds: 5 << min(attempt, 5)) }
            guard let before = metas() else { return metaFailure }
            var head = [UInt8](repeating: 0, count: 2 * before.pageSize)
            guard read(&head, at: 0) == head.count, metas() == before else { continue }
            let outcome = copy(to: target, bytes: (before.lastPage + 1) * before.pageSize, head)
            guard outcome == .copied else { return outcome }
            guard let after = metas() else { return metaFailure }
            if after.newestTransaction <= before.newestTransaction + 1 { return .copied }
        }
        return .busy
    }

    /// Why there are no metas: the system cannot read them, or they are none.
    private var metaFailure: CopyOutcome {
        var bytes = [UInt8](repeating: 0, count: 152)
        let count = read(&bytes, at: 0)
        return count < 0 ? .unreadable(Int32(-count)) : .invalid
    }

    private func copy(to target: String, bytes: Int, _ head: [UInt8]) -> CopyOutcome {
        // A pipe would let the call wait for whoever reads from it.
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let output = unsafe open(target, flags, 0o600)
        guard output >= 0 else { return .failed(errno) }
        defer { close(output) }
        guard FileSystem.isRegular(output) else { return .failed(EINVAL) }
        var offset = 0
        while offset < bytes {
            var piece = [UInt8](repeating: 0, count: min(1 << 20, bytes - offset))
            // A file may rightly be shorter than its last page says.
            let count = read(&piece, at: offset)
            if count == 0 { break }
            if count < 0 { return .unreadable(Int32(-count)) }
            if offset == 0 { piece.replaceSubrange(0..<min(head.count, count), with: head.prefix(count)) }
            var done = 0
            while done < count {
                // unsafe: C only reads the array, during the call.
                let written = unsafe piece.withUnsafeBytes {
                    unsafe pwrite(output, $0.baseAddress! + done, count - done, off_t(offset + done))
                }
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { return .failed(written < 0 ? errno : ENOSPC) }
                done += written
            }
            offset += count
        }
        return .copied
    }
}

/// Lets the calling thread rest.
public func pause(milliseconds: Int) {
    var time = timespec(tv_sec: milliseconds / 1_000, tv_nsec: milliseconds % 1_000 * 1_000_000)
    unsafe nanosleep(&time, nil)
}
