#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Wakes a thread that waits for changes of a data file. A wake-up is only a hint: a new snapshot shows whether there
/// are changes.
public final class FileWatch: Sendable {
    private let events: Int32
    /// The pipe through which another thread wakes the waiting thread.
    private let wakeEnds: (read: Int32, write: Int32)
    #if canImport(Darwin)
        private let file: Int32
    #endif

    /// `nil` if the system cannot provide a watch.
    public init?(folder: String) {
        var ends: [Int32] = [-1, -1]
        // unsafe: C fills the two numbers during the call.
        guard unsafe pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        wakeEnds = (ends[0], ends[1])
        #if canImport(Darwin)
            file = unsafe open(StoreFiles.dataPath(in: folder), O_EVTONLY | O_CLOEXEC)
            events = kqueue()
            let isWatching =
                file >= 0 && events >= 0 && FileWatch.add(file, Int16(EVFILT_VNODE), to: events)
                && FileWatch.add(ends[0], Int16(EVFILT_READ), to: events)
        #else
            events = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
            // Watch the folder, so that the replacement of the file is noticed too.
            let mask = UInt32(IN_MODIFY) | UInt32(IN_MOVED_TO) | UInt32(IN_CREATE)
            let isWatching = unsafe events >= 0 && inotify_add_watch(events, folder, mask) >= 0
        #endif
        // All properties are set now, so deinit closes the descriptors if this fails.
        if !isWatching { return nil }
    }

    deinit {
        for descriptor in [events, wakeEnds.read, wakeEnds.write] where descriptor >= 0 { close(descriptor) }
        #if canImport(Darwin)
            if file >= 0 { close(file) }
        #endif
    }

    #if canImport(Darwin)
        private static func add(_ descriptor: Int32, _ filter: Int16, to events: Int32) -> Bool {
            var change = unsafe kevent(
                ident: UInt(descriptor), filter: filter, flags: UInt16(EV_ADD | EV_CLEAR),
                fflags: UInt32(NOTE_WRITE | NOTE_EXTEND | NOTE_DELETE | NOTE_RENAME), data: 0, udata: nil)
            if filter != Int16(EVFILT_VNODE) { unsafe change.fflags = 0 }
            // unsafe: C reads one structure during the call.
            return unsafe kevent(events, &change, 1, nil, 0, nil) == 0
        }
    #endif

    /// Ends the current or the next wait immediately.
    public func wake() {
        var byte: UInt8 = 0
        // unsafe: C reads one byte during the call. A full pipe also wakes the waiter.
        _ = unsafe write(wakeEnds.write, &byte, 1)
    }

    /// Waits until the file changes, `wake` is called, or the time is over. Returns `false` if the time is over.
    public func wait(milliseconds: Int) -> Bool {
        #if canImport(Darwin)
            var event = unsafe kevent()
            var time = timespec(tv_sec: milliseconds / 1_000, tv_nsec: milliseconds % 1_000 * 1_000_000)
            // unsafe: C fills one structure during the call.
            let isWoken = unsafe kevent(events, nil, 0, &event, 1, &time) > 0
            drain(wakeEnds.read)
            return isWoken
        #else
            var requests = [
                pollfd(fd: events, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wakeEnds.read, events: Int16(POLLIN), revents: 0),
            ]
            // unsafe: C reads and fills the two structures during the call.
            guard unsafe poll(&requests, 2, Int32(milliseconds)) > 0 else { return false }
            drain(events)
            drain(wakeEnds.read)
            return true
        #endif
    }

    /// Discards the pending bytes; the content of the events is irrelevant.
    private func drain(_ descriptor: Int32) {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        // unsafe: C fills at most the array during the call.
        while unsafe bytes.withUnsafeMutableBytes({ unsafe read(descriptor, $0.baseAddress, $0.count) }) > 0 {}
    }
}
