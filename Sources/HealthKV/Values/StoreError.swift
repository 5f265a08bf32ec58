import ColumnFormat
import HealthModel
import LMDB
import PageReader

/// What went wrong in a store. No error carries a health value.
///
/// ```swift
/// do {
///     let store = try SampleStore.open(at: folder)
/// } catch let error as StoreError where error.code == .noStore {
///     print(error)          // names the folder and says what to do
/// }
/// ```
public struct StoreError: Error, Sendable {
    /// What happened. Raw values are stable; codes may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// There is no store in the folder, and none was to be made.
        public static let noStore = Code(rawValue: "noStore")
        /// The folder holds something that is no store.
        public static let notAStore = Code(rawValue: "notAStore")
        /// The store was written by a newer release.
        public static let newerFormat = Code(rawValue: "newerFormat")
        /// The store was written before the first release, in a format that is not read any more.
        public static let olderFormat = Code(rawValue: "olderFormat")
        /// Bytes in the store do not say what they should.
        public static let damaged = Code(rawValue: "damaged")
        /// The store is closed.
        public static let closed = Code(rawValue: "closed")
        /// `write` was called inside `write`, or `close` inside `read` or `write`.
        public static let nested = Code(rawValue: "nested")
        /// The store was opened for reading only.
        public static let readOnly = Code(rawValue: "readOnly")
        /// A sample or batch that the model refuses.
        public static let invalidSample = Code(rawValue: "invalidSample")
        /// An edit changes the type, source or sync identifier of a sample, by which peers recognise it.
        public static let identityChanged = Code(rawValue: "identityChanged")
        /// A save that was to throw where it stores nothing: the sample was deleted, or the store holds a later
        /// version.
        public static let notStored = Code(rawValue: "notStored")
        /// The change token is older than what the store still knows, or belongs to another store.
        public static let tokenExpired = Code(rawValue: "tokenExpired")
        /// The map cannot grow to hold what was to be written.
        public static let full = Code(rawValue: "full")
        /// LMDB or the system failed; `underlying` tells how.
        public static let storage = Code(rawValue: "storage")
        /// Units of a type cannot be brought to one.
        public static let mixedUnits = Code(rawValue: "mixedUnits")
        /// A query asks a type for what it cannot give: options of another kind, or a unit of another dimension.
        public static let unsuitableQuery = Code(rawValue: "unsuitableQuery")
        /// An invalid argument or option: a limit below zero, a window of no day, a text that is no date.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// The store defines a type otherwise than another store that this process has opened.
        public static let conflictingTypes = Code(rawValue: "conflictingTypes")
        /// A folder that should be empty holds a store.
        public static let exists = Code(rawValue: "exists")
        /// The destination of a copy lies in the folder of the store that is to be copied.
        public static let insideStore = Code(rawValue: "insideStore")
        /// A failed commit left the outcome unknown: reopen and look before writing again.
        public static let poisoned = Code(rawValue: "poisoned")
        /// The last step of a commit failed: whether it happened is known only after reopening.
        public static let outcomeUnknown = Code(rawValue: "outcomeUnknown")
        /// The map must grow, and readers of this process did not end in time.
        public static let growthBlocked = Code(rawValue: "growthBlocked")
        /// A symbolic link, or a folder or file of another user.
        public static let unsafeFolder = Code(rawValue: "unsafeFolder")
        /// A file system that LMDB cannot rely on.
        public static let unsafeFileSystem = Code(rawValue: "unsafeFileSystem")
        /// The permissions do not allow it.
        public static let accessDenied = Code(rawValue: "accessDenied")
        /// Somebody else is at work with the file and does not end.
        public static let busy = Code(rawValue: "busy")
        /// Another file, not of this store's making, took the place of the store's.
        public static let replaced = Code(rawValue: "replaced")
        /// The store is sealed, and its key was not given; or it is not sealed, and one was.
        public static let wrongKey = Code(rawValue: "wrongKey")
        /// The store is suspended.
        public static let suspended = Code(rawValue: "suspended")
        /// The process was forked after the store was opened.
        public static let forked = Code(rawValue: "forked")
        /// A read took longer than the options allow.
        public static let readerExpired = Code(rawValue: "readerExpired")
        /// An operation of a transaction failed half way, and the closure went on as if nothing were.
        public static let unfinished = Code(rawValue: "unfinished")
        /// The work was stopped by its caller.
        public static let cancelled = Code(rawValue: "cancelled")
    }

    /// What happened, for programs to decide by.
    public let code: Code
    /// The folder of the store.
    public let path: String
    /// What exactly, without any health value.
    public let detail: String
    /// The error of a lower layer that caused this one.
    public let underlying: (any Error)?
    /// What helps, where it is not what helps with others of the code.
    package internal(set) var remedy: String?
    /// Whether a symbolic link was refused.
    package internal(set) var isOfLink = false

    /// An error of the store at `path`. `detail` must not hold a health value.
    public init(_ code: Code, path: String, _ detail: String, underlying: (any Error)? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        self.underlying = underlying
    }
}

extension StoreError: CustomStringConvertible {
    public var description: String {
        "\(path): \(detail)\(cause). \(remedy ?? advice)"
    }

    /// The error of a lower layer in parentheses. Where this error has a remedy for it, the other's is left out.
    package var cause: String {
        switch underlying {
        case nil: ""
        case let error as LMDBError where code != .storage: " (\(error.reason))"
        case .some(let error): " (\(error))"
        }
    }

    /// Whether the disk, a quota or a limit of the process has no room, and not the map.
    private var isOfDisk: Bool {
        switch underlying {
        case let error as LMDBError: error.meansNoRoom
        case let error as StoreError: error.isOfDisk
        default: false
        }
    }

    private var advice: String {
        switch code {
        case .noStore: "Check the path, or allow the store to be created."
        case .notAStore: "Choose an empty folder or one that holds a store."
        case .newerFormat: "Update the software that reads it."
        case .olderFormat: "Write it out with `kvinspect dump --all` of the version that wrote it, and load that."
        case .damaged:
            "Keep a copy of the folder first; `kvinspect check` lists the damage, and `kvinspect repair` saves what it can."
        case .closed: "Open the store again."
        case .nested: "Finish the outer call first, and use its transaction inside."
        case .readOnly: "Open the store without the read-only option."
        case .invalidSample: "Correct the named field; nothing was stored."
        case .notStored:
            "Read the sample and save the change on top of it; undelete one that was deleted, or give it a new id."
        case .identityChanged:
            "Delete the sample and save the new one under an id of its own. Nothing was stored."
        case .tokenExpired: "Read all samples once and continue from the current token."
        case .full where isOfDisk: "Free space on the disk, or allow larger files. Nothing was stored."
        case .full: "Delete data, or open the store with a greater map size or size limit. Nothing was stored."
        case .mixedUnits: "Read the samples one by one, each in its own unit."
        case .unsuitableQuery: "Ask for what the type has: see its aggregation and canonical unit."
        case .invalidArgument: "Correct what is named."
        case .conflictingTypes: "Open the two stores in different processes, or define the type alike in both."
        case .exists: "Choose a folder without a store."
        case .insideStore: "Choose a folder outside the store."
        case .unfinished: "Let the first error leave the closure; then write again."
        case .poisoned: "Close the store, open it again and check what was stored."
        case .outcomeUnknown:
            "Close the store, open it again, and save the same samples once more: stored ones are not duplicated."
        case .growthBlocked: "End the readers, then try again. Nothing was stored."
        case .unsafeFolder: "Use a folder of the user's own, with its files in it."
        case .unsafeFileSystem: "Move the store to a local disk, or open it with the option that tolerates this."
        case .accessDenied:
            "Correct the permissions (0700 for the folder, 0600 for its files), or open it for reading only."
        case .busy: "Try again when it has ended."
        case .replaced: "Close the store and open it again."
        case .wrongKey: "Open it with the sealer with which it was made. Nothing was changed."
        case .suspended: "Call resume() first."
        case .forked: "Open the store again in this process."
        case .cancelled: "Nothing of it was kept."
        case .readerExpired: "Read in smaller parts, such as pages, each with a snapshot of its own."
        default: "The store is unchanged."
        }
    }
}

extension StoreError {
    /// The system could not read the data file, which says nothing of what the file holds.
    static func unreadable(_ path: String, _ cause: PageFileError) -> StoreError {
        StoreError(
            .storage, path: path,
            "The system cannot read data.mdb, which may be whole: try again, look at the disk, "
                + "and copy the folder to another one",
            underlying: cause)
    }

    /// Whether an error of any layer says that what stands in the file is damaged.
    package static func isDamage(_ error: any Error) -> Bool {
        (wrap(error, path: "") as? StoreError)?.code == .damaged
    }

    /// Whether an error says that the units of a type cannot be brought to one.
    static func isOfMixedUnits(_ error: any Error) -> Bool { (error as? StoreError)?.code == .mixedUnits }

    /// Whether an error of any layer says that there is no room for what was to be written.
    static func isFull(_ error: any Error) -> Bool { (wrap(error, path: "") as? StoreError)?.code == .full }

    /// The same error, told of the folder that the caller knows instead of one that was made for a moment.
    package static func retold(_ error: any Error, of folder: String) -> any Error {
        switch error {
        case let error as StoreError:
            var retold = StoreError(
                error.code, path: folder, error.detail,
                underlying: error.underlying.map { StoreError.retold($0, of: folder) })
            retold.remedy = error.remedy
            return retold
        case let error as LMDBError: return LMDBError(error.code, operation: error.operation, path: folder)
        default: return error
        }
    }

    /// Throws if an argument is below its minimum.
    static func require(_ number: Int, _ least: Int, _ name: String, path: String) throws(StoreError) {
        if number < least {
            throw StoreError(.invalidArgument, path: path, "The \(name) is \(number), and must be at least \(least)")
        }
    }

    /// An error of a read: nothing was to be stored, so what the model refuses is the question.
    static func wrapRead(_ error: any Error, path: String) -> any Error {
        switch error {
        case ModelError.incompatibleUnits, ModelError.misspelledType:
            StoreError(.unsuitableQuery, path: path, "The question was refused", underlying: error)
        case is ModelError: StoreError(.invalidArgument, path: path, "The question was refused", underlying: error)
        default: wrap(error, path: path)
        }
    }

    /// Any error of the layers below as an error of the store.
    static func wrap(_ error: any Error, path: String) -> any Error {
        switch error {
        case let error as FormatError where error.isOfNewerRelease:
            return StoreError(.newerFormat, path: path, "A newer release wrote the store", underlying: error)
        case let error as FormatError where error.code == .sealed:
            return StoreError(
                .damaged, path: path, "A value was not sealed with the key of the store, or was changed since",
                underlying: error)
        case let error as FormatError where error.code == .older:
            return StoreError(
                .olderFormat, path: path, "The store has a format of before the first release", underlying: error)
        case let error as FormatError:
            return StoreError(.damaged, path: path, "The store is damaged", underlying: error)
        case let error as ModelError:
            return StoreError(.invalidSample, path: path, "What was to be stored was refused", underlying: error)
        case let error as PageFileError where error.isOfSystem: return unreadable(path, error)
        case let error as PageFileError:
            return StoreError(.damaged, path: path, "data.mdb is too short", underlying: error)
        case let error as LMDBError:
            switch error.code {
            case .mapFull: return StoreError(.full, path: path, "The store is full", underlying: error)
            case _ where error.meansNoRoom:
                return StoreError(.full, path: path, "The disk is full", underlying: error)
            case .accessDenied:
                return StoreError(.accessDenied, path: path, "The system refused access", underlying: error)
            case .forked:
                return StoreError(.forked, path: path, "The process was forked after it opened the store")
            case .panic:
                return StoreError(.poisoned, path: path, "An earlier commit failed", underlying: error)
            case .versionMismatch:
                return StoreError(.newerFormat, path: path, "data.mdb has another format of LMDB", underlying: error)
            case .corrupted, .pageNotFound, .invalid:
                return StoreError(.damaged, path: path, "The store is damaged", underlying: error)
            case .cancelled: return StoreError(.cancelled, path: path, "The work was stopped")
            case .folderHeld:
                return StoreError(.busy, path: path, "Another program locks the folder", underlying: error)
            case .closed: return StoreError(.closed, path: path, "The store is closed", underlying: error)
            default: return StoreError(.storage, path: path, "The storage failed", underlying: error)
            }
        default: return error
        }
    }
}
