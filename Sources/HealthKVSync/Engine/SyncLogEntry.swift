/// An entry for the app's log, in the form that Swift loggers take. It carries no health value, no id of a sample and
/// no name of a person.
///
/// ```swift
/// var options = SyncOptions()
/// options.log = { entry in print(entry) }
/// ```
public struct SyncLogEntry: Sendable, Hashable, CustomStringConvertible {
    /// The severity of an entry. The raw values are those that Swift loggers use.
    public enum Level: String, Sendable, Hashable, CaseIterable {
        /// Normal operation without changes.
        case debug
        /// Something was imported or sent.
        case info
        /// A failure that is retried.
        case warning
        /// A problem that needs the app, its user or a developer.
        case error
    }

    /// The severity.
    public let level: Level
    /// What happened, in English.
    public let message: String
    /// Numbers and names that belong to the message.
    public let metadata: [String: String]

    public var description: String {
        let fields = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return "\(level.rawValue): \(message)\(fields)"
    }
}

extension PeerSession {
    func log(_ level: SyncLogEntry.Level, _ message: String, _ metadata: [String: String] = [:]) {
        options.log?(SyncLogEntry(level: level, message: message, metadata: metadata.merging(["peer": name]) { $1 }))
    }

    /// Logs the result of a pass. The detail of an issue contains no private data, because it is redacted where it is
    /// made.
    func log(_ report: SyncReport) {
        guard options.log != nil else { return }
        var metadata: [String: String] = [:]
        let counts = [
            ("imported", report.pulled.imported), ("deleted", report.pulled.deleted),
            ("conflicts", report.pulled.conflicts), ("invalid", report.pulled.invalid), ("sent", report.pushed.done),
            ("parked", report.pushed.parked), ("failed", report.pushed.failed),
        ]
        for (name, count) in counts where count > 0 { metadata[name] = "\(count)" }
        guard let issue = report.issue else {
            return log(metadata.isEmpty ? .debug : .info, "synced", metadata)
        }
        (metadata["issue"], metadata["detail"]) = (issue.code.rawValue, issue.detail)
        log(issue.recovery == .wait ? .warning : .error, "the sync is not whole", metadata)
    }
}
