import LMDB

/// Something about a store that is no error, and that its keeper should know. No notice carries a health value.
///
/// ```swift
/// var options = SampleStore.Options()
/// options.onNotice = { notice in print(notice) }
/// ```
public struct StoreNotice: Sendable, Hashable, CustomStringConvertible {
    /// What it is about. Raw values are stable; codes may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A reader has kept its snapshot for more than five seconds, so that the file may grow.
        public static let longReader = Code(rawValue: "longReader")
        /// Processes ended without giving up their snapshots, which were cleared.
        public static let staleReaders = Code(rawValue: "staleReaders")
        /// Others than the owner may read the folder or a file.
        public static let permissions = Code(rawValue: "permissions")
        /// The file system is one that LMDB may not rely on.
        public static let fileSystem = Code(rawValue: "fileSystem")
        /// The store belongs to another user.
        public static let foreignOwner = Code(rawValue: "foreignOwner")
        /// The lock file cannot be used: the store is read without locks, as it was when it was opened.
        public static let withoutLocks = Code(rawValue: "withoutLocks")
        /// The map was enlarged.
        public static let grown = Code(rawValue: "grown")
        /// The file is a copy or was restored: the store took a new replica and a new epoch.
        public static let restored = Code(rawValue: "restored")
        /// Another file took the place of the store's, and the store went on with it.
        public static let reopened = Code(rawValue: "reopened")
    }

    /// What it is about, for a program to act on.
    public let code: Code
    /// The folder or file that it is about.
    public let path: String
    /// What happened, for people to read, in English. Its wording may change.
    public let detail: String

    public var description: String { "\(path): \(detail)" }
}

/// The latest notices of a store, and who wants to hear of them.
final class NoticeBoard: Sendable {
    private static let limit = 64
    private let recent = Monitor<[StoreNotice]>([])
    private let handler: (@Sendable (StoreNotice) -> Void)?

    init(_ handler: (@Sendable (StoreNotice) -> Void)?) { self.handler = handler }

    var all: [StoreNotice] { recent.withLock { $0 } }

    func post(_ code: StoreNotice.Code, _ path: String, _ detail: String) {
        let notice = StoreNotice(code: code, path: path, detail: detail)
        recent.withLock { recent in
            if recent.count == NoticeBoard.limit { recent.removeFirst() }
            recent.append(notice)
        }
        handler?(notice)
    }
}
