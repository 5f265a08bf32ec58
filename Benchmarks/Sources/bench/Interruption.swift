import Foundation
import Synchronization

/// Ends a run early on a signal: ends the current contestant, and reports the measurements so far.
///
/// Unchecked: the sources are only stored after `init`; the lock protects everything else.
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
            // The default action would end the process before it can report.
            signal(number, SIG_IGN)
            source.setEventHandler { [weak self] in self?.stop() }
            source.resume()
        }
    }

    var wasAsked: Bool { state.withLock(\.wasAsked) }

    /// Notes the process that a signal must end; `nil` for none.
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
