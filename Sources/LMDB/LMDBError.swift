import LMDBInC

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An error of LMDB, of the operating system or of this layer, with the path and the failed call.
///
/// ```swift
/// do {
///     _ = try environment.beginRead()
/// } catch where error.code == .mapResized {
///     try environment.adoptSize()
/// }
/// ```
public struct LMDBError: Error, Sendable, Equatable {
    /// A stable code; new ones may be added without breaking a `switch` that has a default.
    public var code: Code
    /// The failed call, by its C name if it has one: `mdb_put`.
    public var operation: String
    /// The folder of the environment.
    public var path: String

    public init(_ code: Code, operation: String, path: String) {
        self.code = code
        self.operation = operation
        self.path = path
    }

    @usableFromInline
    init(_ code: Int32, _ operation: StaticString, _ path: String) {
        self.init(Code(rawValue: code), operation: operation.description, path: path)
    }
}

extension LMDBError {
    /// An error code: negative for LMDB and for this layer, positive for `errno` of the operating system.
    public struct Code: RawRepresentable, Sendable, Hashable {
        public var rawValue: Int32

        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }
    }
}

/// The codes of LMDB that code or tests name. Any other code passes through unchanged.
extension LMDBError.Code {
    /// `MDB_KEYEXIST`: the key exists, or an appended key is not the greatest.
    public static let keyExists = Self(rawValue: MDB_KEYEXIST)
    /// `MDB_NOTFOUND`: no such key, or the end of the table.
    public static let notFound = Self(rawValue: MDB_NOTFOUND)
    /// `MDB_PAGE_NOTFOUND`: the tree refers to a page that does not exist.
    public static let pageNotFound = Self(rawValue: MDB_PAGE_NOTFOUND)
    /// `MDB_CORRUPTED`: a page has the wrong type.
    public static let corrupted = Self(rawValue: MDB_CORRUPTED)
    /// `MDB_PANIC`: the write of the meta page failed, or the environment has a permanent failure.
    public static let panic = Self(rawValue: MDB_PANIC)
    /// `MDB_VERSION_MISMATCH`: the file was written by another version of LMDB's format.
    public static let versionMismatch = Self(rawValue: MDB_VERSION_MISMATCH)
    /// `MDB_INVALID`: not an LMDB file.
    public static let invalid = Self(rawValue: MDB_INVALID)
    /// `MDB_MAP_FULL`: the map is full.
    public static let mapFull = Self(rawValue: MDB_MAP_FULL)
    /// `MDB_DBS_FULL`: more tables than `maxTables`.
    public static let tablesFull = Self(rawValue: MDB_DBS_FULL)
    /// `MDB_READERS_FULL`: more readers than `maxReaders`.
    public static let readersFull = Self(rawValue: MDB_READERS_FULL)
    /// `MDB_TXN_FULL`: the transaction has too many changed pages.
    public static let transactionFull = Self(rawValue: MDB_TXN_FULL)
    /// `MDB_MAP_RESIZED`: another process has grown the file beyond this process's map.
    public static let mapResized = Self(rawValue: MDB_MAP_RESIZED)
    /// `MDB_BAD_TXN`: an earlier call in this transaction failed, so it can only be aborted.
    public static let badTransaction = Self(rawValue: MDB_BAD_TXN)
    /// `MDB_BAD_VALSIZE`: an empty key, or a value that is too long.
    public static let badValueSize = Self(rawValue: MDB_BAD_VALSIZE)
    /// `MDB_BAD_DBI`: the table belongs to another environment, or to an aborted transaction.
    public static let badTable = Self(rawValue: MDB_BAD_DBI)
}

extension LMDBError {
    /// Whether a commit failed at its last step, the write of the meta page, so that its outcome is unknown.
    public var leavesOutcomeUnknown: Bool {
        operation == Environment.metaWrite.description || operation == JournalFile.flush.description
    }

    /// Whether something else than the file that was to be opened is in its place.
    public var isOfOtherKind: Bool { [EINVAL, ELOOP, ENXIO, EISDIR].contains(code.rawValue) }

    /// Whether the system refused because a permission is missing or the medium is read-only.
    public var isRefusal: Bool { [EACCES, EPERM, EROFS].contains(code.rawValue) }

    /// Whether a transaction's writes did not fit: because of the disk, a quota, or a limit of the process.
    public var meansNoRoom: Bool {
        [ENOSPC, EDQUOT, EFBIG].contains(code.rawValue)
    }
}

/// The codes of this layer, outside the range of LMDB.
extension LMDBError.Code {
    /// A key longer than `maxKeySize` (no C code: detected before the call).
    public static let keyTooLong = Self(rawValue: -31_001)
    /// The process was forked after the environment was opened (no C code).
    public static let forked = Self(rawValue: -31_002)
    /// The environment is closed (no C code).
    public static let closed = Self(rawValue: -31_003)
    /// The cipher of the environment did not seal a value (no C code).
    public static let notSealed = Self(rawValue: -31_004)
}

/// Codes of the operating system with a specific meaning here. Any other `errno` passes through unchanged.
extension LMDBError.Code {
    /// `ENOSPC`: the disk is full.
    public static let noSpace = Self(rawValue: ENOSPC)
    /// `EIO`: the disk failed.
    public static let io = Self(rawValue: EIO)
    /// `EACCES`: no permission, or a write to a read-only environment.
    public static let accessDenied = Self(rawValue: EACCES)
    /// `ENOENT`: the folder or the file does not exist.
    public static let noSuchFile = Self(rawValue: ENOENT)
    /// `EEXIST`: a file exists at the path of a new file.
    public static let fileExists = Self(rawValue: EEXIST)
    /// `ENOMEM`: no memory or no address space.
    public static let noMemory = Self(rawValue: ENOMEM)
    /// `EINVAL`: an argument that LMDB refuses.
    public static let invalidArgument = Self(rawValue: EINVAL)
    /// `EBUSY`: another transaction blocks the call.
    public static let busy = Self(rawValue: EBUSY)
    /// `EAGAIN`: another program holds the lock of the folder.
    public static let folderHeld = Self(rawValue: EAGAIN)
    /// `EDEADLK`: the call would wait for a transaction of the same thread.
    public static let wouldDeadlock = Self(rawValue: EDEADLK)
    /// `ECANCELED`: the caller stopped the work.
    public static let cancelled = Self(rawValue: ECANCELED)
}
