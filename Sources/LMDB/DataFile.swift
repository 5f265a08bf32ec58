#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
import PageReader

/// A data file, read with ordinary reads and without locks, for places where the lock file cannot be used.
public struct DataFile: ~Copyable {
    /// The newer of the two meta pages.
    public struct Metas: Sendable, Equatable {
        public var pageSize: Int
        public var newestTransaction: UInt64
        public var lastPage: Int
        /// The size of the last writer's map.
        public var mapSize: Int
    }

    /// The result of copying a snapshot.
    public enum CopyOutcome: Sendable, Equatable {
        case copied
        /// A writer was active during every attempt.
        case busy
        /// A system call that writes the copy failed with this code.
        case failed(Int32)
        /// The system failed to read the file, with this code.
        case unreadable(Int32)
        case invalid
    }

    private let descriptor: Int32

    /// Opens a regular file for reading; `nil` if that fails, with the reason in `errno`.
    public init?(_ path: String) {
        descriptor = FileSystem.openRegular(path)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Reads the meta pages; `nil` if they are not LMDB's.
    public func metas() -> Metas? {
        guard let first = meta(0, at: 0), let second = meta(1, at: first.pageSize) else { return nil }
        return first.newestTransaction > second.newestTransaction ? first : second
    }

    private func meta(_ index: Int, at offset: Int) -> Metas? {
        var bytes = [UInt8](repeating: 0, count: Meta.byteCount)
        guard read(&bytes, at: offset) == bytes.count, let meta = Meta(bytes, index: index),
            (256...65_536).contains(meta.pageSize), let lastPage = Int(exactly: meta.lastPage),
            let mapSize = Int(exactly: meta.mapSize)
        else { return nil }
        return Metas(
            pageSize: meta.pageSize, newestTransaction: meta.transaction, lastPage: lastPage, mapSize: mapSize)
    }

    /// Returns the number of bytes read, or the negated `errno` if the system cannot read them.
    func read(_ bytes: inout [UInt8], at offset: Int) -> Int {
        var done = 0
        while done < bytes.count {
            // unsafe: C fills at most the rest of the array, during the call.
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

    /// Copies the last committed state to a new file that only its owner can read.
    ///
    /// A writer reuses no page of a snapshot before the second commit after it, because the pages that the next commit
    /// frees become free only then. So a copy is consistent if the newest transaction has advanced by at most one when
    /// the copy ends. Otherwise the copy is repeated. The copy gets the meta pages from before it began: the root of a
    /// later meta page could lie behind the end of the copy, where a read through the map would end the process.
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

    /// Why there are no meta pages: the system cannot read them, or they are not LMDB's.
    private var metaFailure: CopyOutcome {
        var bytes = [UInt8](repeating: 0, count: Meta.byteCount)
        let count = read(&bytes, at: 0)
        return count < 0 ? .unreadable(Int32(-count)) : .invalid
    }

    private func copy(to target: String, bytes: Int, _ head: [UInt8]) -> CopyOutcome {
        // Without O_NONBLOCK, opening a pipe would wait for a reader.
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let output = unsafe open(target, flags, 0o600)
        guard output >= 0 else { return .failed(errno) }
        defer { close(output) }
        guard FileSystem.isRegular(output) else { return .failed(EINVAL) }
        var offset = 0
        while offset < bytes {
            var piece = [UInt8](repeating: 0, count: min(1 << 20, bytes - offset))
            // A sound file may be shorter than its last page number implies.
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

/// Suspends the calling thread.
public func pause(milliseconds: Int) {
    var time = timespec(tv_sec: milliseconds / 1_000, tv_nsec: milliseconds % 1_000 * 1_000_000)
    unsafe nanosleep(&time, nil)
}
