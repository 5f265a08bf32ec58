import LMDBInC

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What LMDB, the operating system or this layer refused, where, and in which call.
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
    /// The call that failed, by its name in C where there is one: `mdb_put`.
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
    /// A return code: negative for LMDB and for this layer, positive for `errno` of the operating system.
    public struct Code: RawRepresentable, Sendable, Hashable {
        public var rawValue: Int32

        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }
    }
}

/// The codes of LMDB.
extension LMDBError.Code {
    /// `MDB_KEYEXIST`: the key exists, or an appended key is not the greatest.
    public static let keyExists = Self(rawValue: MDB_KEYEXIST)
    /// `MDB_NOTFOUND`: no such key, or the end of the table.
    public static let notFound = Self(rawValue: MDB_NOTFOUND)
    /// `MDB_PAGE_NOTFOUND`: a page that the tree names does not exist.
    public static let pageNotFound = Self(rawValue: MDB_PAGE_NOTFOUND)
    /// `MDB_CORRUPTED`: a page is of the wrong type.
    public static let corrupted = Self(rawValue: MDB_CORRUPTED)
    /// `MDB_PANIC`: the meta page could not be written, or the environment failed for good.
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
    /// `MDB_CURSOR_FULL`: the tree is deeper than a cursor can follow.
    public static let cursorFull = Self(rawValue: MDB_CURSOR_FULL)
    /// `MDB_PAGE_FULL`: a page has not enough space.
    public static let pageFull = Self(rawValue: MDB_PAGE_FULL)
    /// `MDB_MAP_RESIZED`: another process let the file grow beyond our map.
    public static let mapResized = Self(rawValue: MDB_MAP_RESIZED)
    /// `MDB_INCOMPATIBLE`: the table is of a kind that this layer does not open.
    public static let incompatible = Self(rawValue: MDB_INCOMPATIBLE)
    /// `MDB_BAD_RSLOT`: a reader's slot was reused wrongly.
    public static let badReaderSlot = Self(rawValue: MDB_BAD_RSLOT)
    /// `MDB_BAD_TXN`: an earlier call in this transaction failed, so that it can only be given up.
    public static let badTransaction = Self(rawValue: MDB_BAD_TXN)
    /// `MDB_BAD_VALSIZE`: an empty key, or a value too long.
    public static let badValueSize = Self(rawValue: MDB_BAD_VALSIZE)
    /// `MDB_BAD_DBI`: the table belongs to another environment, or to a transaction that was given up.
    public static let badTable = Self(rawValue: MDB_BAD_DBI)
}

extension LMDBError {
    /// Whether a commit failed at its last step, the write of the meta page, so that it may have happened or not.
    public var leavesOutcomeUnknown: Bool { operation == Environment.metaWrite.description }

    /// Whether the system refused for want of a permission, or because the medium is for reading only.
    public var isRefusal: Bool { [EACCES, EPERM, EROFS].contains(code.rawValue) }

    /// Whether there was no room for what a transaction wrote: on the disk, below a quota or below a limit of the process.
    public var meansNoRoom: Bool {
        [ENOSPC, EDQUOT, EFBIG].contains(code.rawValue)
    }
}

/// The codes of this layer, outside the range of LMDB.
extension LMDBError.Code {
    /// A key longer than `maxKeySize` (no code in C: found before the call).
    public static let keyTooLong = Self(rawValue: -31_001)
    /// The process was forked after the environment was opened (no code in C).
    public static let forked = Self(rawValue: -31_002)
    /// The environment is closed (no code in C).
    public static let closed = Self(rawValue: -31_003)
}

/// Codes of the operating system that have a meaning of their own here. Any other `errno` passes through.
extension LMDBError.Code {
    /// `ENOSPC`: the disk is full.
    public static let noSpace = Self(rawValue: ENOSPC)
    /// `EIO`: the disk failed.
    public static let io = Self(rawValue: EIO)
    /// `EACCES`: no permission, or a write to an environment opened for reading.
    public static let accessDenied = Self(rawValue: EACCES)
    /// `ENOENT`: the folder or the file does not exist.
    public static let noSuchFile = Self(rawValue: ENOENT)
    /// `EEXIST`: a file exists where a new one should go.
    public static let fileExists = Self(rawValue: EEXIST)
    /// `ENOMEM`: no memory or no address space.
    public static let noMemory = Self(rawValue: ENOMEM)
    /// `EINVAL`: an argument that LMDB refuses.
    public static let invalidArgument = Self(rawValue: EINVAL)
    /// `EBUSY`: another transaction stands in the way.
    public static let busy = Self(rawValue: EBUSY)
    /// `EDEADLK`: the call would wait for a transaction of its own thread.
    public static let wouldDeadlock = Self(rawValue: EDEADLK)
    /// `ECANCELED`: whoever had asked for the work stopped it.
    public static let cancelled = Self(rawValue: ECANCELED)
}
