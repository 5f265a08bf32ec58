import LMDB

/// A condition of a store that is not an error but that the app should know about. No notice carries a health value.
///
/// ```swift
/// var options = StoreOptions()
/// options.onNotice = { notice in print(notice) }
/// ```
public struct StoreNotice: Sendable, Hashable, CustomStringConvertible {
    /// The subject of a notice. Raw values are stable; codes may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A reader has kept its snapshot for more than five seconds, so that the file may grow.
        public static let longReader = Code(rawValue: "longReader")
        /// Processes ended without releasing their snapshots. The snapshots were released.
        public static let staleReaders = Code(rawValue: "staleReaders")
        /// Users other than the owner may read or change the folder or a file.
        public static let permissions = Code(rawValue: "permissions")
        /// The file system is one that LMDB may not rely on.
        public static let fileSystem = Code(rawValue: "fileSystem")
        /// The store belongs to another user.
        public static let foreignOwner = Code(rawValue: "foreignOwner")
        /// The lock file cannot be used, or the medium is read-only: the store is read without locks, as it was when it
        /// was opened.
        public static let withoutLocks = Code(rawValue: "withoutLocks")
        /// The map was enlarged.
        public static let grown = Code(rawValue: "grown")
        /// The file is a copy or was restored: the store took a new replica and a new epoch.
        public static let restored = Code(rawValue: "restored")
        /// Background work has failed while no caller was writing, most likely at a damaged part. It is retried after
        /// later writes.
        public static let upkeepFailed = Code(rawValue: "upkeepFailed")
        /// The system refused to set a protection class, or to exclude the store from backups.
        public static let attribute = Code(rawValue: "attribute")
        /// A view was asked for a range of dates that ends before it begins. The result was empty.
        public static let invertedRange = Code(rawValue: "invertedRange")
        /// Another file took the place of the store's file, and the store continued with it.
        public static let reopened = Code(rawValue: "reopened")
    }

    /// The subject, for programs to act on.
    public let code: Code
    /// The folder or file that the notice is about.
    public let path: String
    /// What happened, for people to read, in English. The wording may change.
    public let detail: String

    public var description: String { "\(path): \(detail)" }
}

/// The latest notices of a store, and the handler to call with each.
final class NoticeBoard: Sendable {
    private struct State {
        var recent: [StoreNotice] = []
        /// The notices that wait until the last lock is released, and the number of holders that delay them.
        var waiting: [StoreNotice] = []
        var holders = 0
    }

    private static let limit = 64
    private let state = Monitor(State())
    private let handler: (@Sendable (StoreNotice) -> Void)?

    init(_ handler: (@Sendable (StoreNotice) -> Void)?) { self.handler = handler }

    var all: [StoreNotice] { state.withLock { $0.recent } }

    func post(_ code: StoreNotice.Code, _ path: String, _ detail: String) {
        let notice = StoreNotice(code: code, path: path, detail: detail)
        let isTold = state.withLock { state in
            if state.recent.count == NoticeBoard.limit { state.recent.removeFirst() }
            state.recent.append(notice)
            if state.holders > 0 { state.waiting.append(notice) }
            return state.holders == 0
        }
        if isTold { handler?(notice) }
    }

    /// Runs `body`, which takes locks, and delivers the notices that it posts only afterwards: a handler may open
    /// stores itself.
    func holding<Result>(_ body: () throws -> Result) rethrows -> Result {
        state.withLock { $0.holders += 1 }
        defer {
            let waiting = state.withLock { state in
                state.holders -= 1
                guard state.holders == 0 else { return [StoreNotice]() }
                defer { state.waiting = [] }
                return state.waiting
            }
            for notice in waiting { handler?(notice) }
        }
        return try body()
    }
}
