import LMDB
import Synchronization

#if canImport(Foundation)
    // The small Foundation has no threads.
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Ctrl-C: the work looks at this between two steps and stops where nothing is half done.
struct Interruption: Error {
    private static let requested = Atomic<Bool>(false)

    /// The process that works for this one; 0 for none.
    private static let worker = Atomic<Int32>(0)

    /// Whether the work has heard of it.
    private static let isHeard = Atomic<Bool>(false)

    /// Has the first Ctrl-C end the process where the work waits for input and does not hear of it within two seconds:
    /// as the second one would. What was committed stays.
    ///
    /// - Parameter cleanUp: Called before, on another thread than the work's.
    static func endWhileWaiting(_ cleanUp: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            while !requested.load(ordering: .relaxed) { Thread.sleep(forTimeInterval: 0.1) }
            Thread.sleep(forTimeInterval: 2)
            if isHeard.load(ordering: .relaxed) { return }
            cleanUp()
            try? FileHandle.standardError.write(contentsOf: Data("Error: Interrupted.\n".utf8))
            _exit(ExitCode.failed.rawValue)
        }
    }

    /// Called by the signal handler, which may do no more than this.
    private static func request() {
        let worker = worker.load(ordering: .relaxed)
        if requested.exchange(true, ordering: .relaxed) {
            // A watched process may be told twice of one Ctrl-C: by the terminal and by the one that watches it.
            if WatchedProcess.isThis { return }
            if worker > 0 { kill(worker, SIGKILL) }
            _exit(ExitCode.failed.rawValue)
        }
        if worker > 0 { kill(worker, SIGTERM) }
    }

    /// Called by the signal handler. The end of one terminal may be told twice, so it is never the second Ctrl-C.
    private static func hangUp() {
        if !requested.load(ordering: .relaxed) { request() }
    }

    /// Has a process that works for this one told, too, from now on; `nil` when it has ended.
    static func pass(to process: Int32?) {
        worker.store(process ?? 0, ordering: .relaxed)
        if let process, requested.load(ordering: .relaxed) { kill(process, SIGTERM) }
    }

    static func check() throws {
        guard requested.load(ordering: .relaxed) else { return }
        isHeard.store(true, ordering: .relaxed)
        throw Interruption()
    }

    /// A closed pipe and a file that would become too large become errors of writing. The first Ctrl-C asks the work to
    /// stop, the second ends the process. The end of a terminal's connection counts as Ctrl-C, unless the process was
    /// told to ignore it, as `nohup` does.
    static func installHandlers() {
        // It must be known before a signal asks for it.
        let isWatched = WatchedProcess.isThis
        _ = signal(SIGPIPE, SIG_IGN)
        _ = signal(SIGXFSZ, SIG_IGN)
        for number in [SIGINT, SIGTERM] {
            _ = signal(number) { _ in Interruption.request() }
        }
        if !ProcessSignals.isIgnored(SIGHUP) {
            _ = signal(SIGHUP) { _ in Interruption.hangUp() }
        }
        if isWatched { return }
        // What the system says of a crash would show what was read.
        _ = signal(SIGBUS) { _ in
            ProcessSignals.end(
                saying: "Error: A file of the store was cut or could not be read. Run 'kvinspect check'.\n",
                code: ExitCode.damage.rawValue)
        }
    }
}
