import HealthKV

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

extension SyncLogEntry {
    /// The entry for a notice of a store, so that one log takes both. The path of the store is left out.
    ///
    /// ```swift
    /// var options = StoreOptions()
    /// options.onNotice = { notice in print(SyncLogEntry(notice)) }
    /// ```
    public init(_ notice: StoreNotice) {
        let level: Level =
            switch notice.code {
            case .grown, .restored, .reopened, .staleReaders: .info
            case .invertedRange: .error
            default: .warning
            }
        self.init(level: level, message: notice.detail, metadata: ["notice": notice.code.rawValue])
    }
}
