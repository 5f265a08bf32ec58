import LMDBInC

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Environment {
    /// The options for opening an environment. MDB_WRITEMAP, MDB_NOMETASYNC, MDB_MAPASYNC and MDB_NOMEMINIT trade
    /// safety for speed and are not available. MDB_NOTLS is always set, so that a read transaction belongs to no
    /// thread.
    public struct Options: Sendable {
        /// The address space to reserve for the file; the file itself stays as small as its data. The size is halved,
        /// down to 64 MiB, while the system cannot provide it.
        public var mapSize: Int
        public var maxTables: UInt32
        public var maxReaders: UInt32
        /// The permissions of new files, including copies.
        public var fileMode: mode_t
        public var readOnly: Bool
        /// `MDB_NOSYNC`: only for a file that is synced and renamed when it is complete.
        public var scratch: Bool
        /// `MDB_RDONLY` and `MDB_NOLOCK`: only for a file that provably never changes.
        public var immutable: Bool
        /// No other process or environment opens the folder, so opening it takes no lock.
        public var isPrivate = false
        /// Seals what is stored; `nil` to store all values as they are.
        public var cipher: (any ValueCipher)?

        /// How long opening waits for the lock of the folder.
        public var patience = FolderLock.patience

        static let leastMapSize = 1 << 26

        public init(
            mapSize: Int = 32 << 30, maxTables: UInt32 = 32, maxReaders: UInt32 = 510, fileMode: mode_t = 0o600,
            readOnly: Bool = false, scratch: Bool = false, immutable: Bool = false
        ) {
            self.mapSize = mapSize
            self.maxTables = maxTables
            self.maxReaders = maxReaders
            self.fileMode = fileMode
            self.readOnly = readOnly
            self.scratch = scratch
            self.immutable = immutable
        }

        var takesTurns: Bool { !immutable && !isPrivate }

        var flags: UInt32 {
            var flags = MDB_NOTLS
            if readOnly || immutable { flags |= MDB_RDONLY }
            if immutable { flags |= MDB_NOLOCK }
            if scratch { flags |= MDB_NOSYNC }
            return UInt32(flags)
        }
    }
}
