import Foundation
import Synchronization

/// Lets someone end a run early: the contestant at work is ended, and what was measured until then is still reported.
///
/// Unchecked: the sources are made once and only kept; all else stands behind the lock.
final class Interruption: @unchecked Sendable {
    private struct State {
        var wasAsked = false
        var process: Int32?
    }

    private let state = Mutex(State())
    private let sources: [any DispatchSourceSignal]

    init() {
        sources = [SIGINT, SIGTERM].map { DispatchSource.makeSignalSource(signal: $0, queue: .global()) }
        for (source, number) in zip(sources, [SIGINT, SIGTERM]) {
            // What ends a process by itself would not leave it the time to report.
            signal(number, SIG_IGN)
            source.setEventHandler { [weak self] in self?.stop() }
            source.resume()
        }
    }

    var wasAsked: Bool { state.withLock(\.wasAsked) }

    /// Notes the process that a signal has to end; `nil` when there is none.
    func watch(_ process: Process?) {
        let process = process?.processIdentifier
        state.withLock {
            $0.process = process
            if $0.wasAsked, let process { kill(process, SIGKILL) }
        }
    }

    private func stop() {
        state.withLock {
            $0.wasAsked = true
            if let process = $0.process { kill(process, SIGKILL) }
        }
    }
}
