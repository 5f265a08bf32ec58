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
