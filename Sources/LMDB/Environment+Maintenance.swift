import LMDBInC

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Environment {
    /// The size of the environment and the use of its reader slots.
    public struct Info: Sendable, Hashable {
        public var mapSize: Int
        /// The number of the last page in use; the file has at most one page more than this number.
        public var lastPage: Int
        public var lastTransaction: Int
        public var maxReaders: Int
        /// The slots in use by all processes, including idle slots.
        public var readersInUse: Int
    }

    /// A reader slot in the lock file.
    public struct Reader: Sendable, Hashable {
        public var pid: Int32
        public var thread: UInt
        /// The snapshot that the reader keeps alive, or `nil` while it is idle.
        public var transaction: Int?
    }

    /// Returns the identity of the mapped data file, even if its path now refers to another file.
    public func dataFile() throws(LMDBError) -> FileIdentity {
        try using("mdb_env_get_fd") { () throws(LMDBError) in
            var descriptor: Int32 = -1
            var status = stat()
            let code = unsafe mdb_env_get_fd(raw, &descriptor)
            guard code == MDB_SUCCESS else { throw error(code, "mdb_env_get_fd") }
            guard unsafe fstat(descriptor, &status) == 0 else { throw error(errno, "fstat") }
            return FileIdentity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
        }
    }

    public func info() throws(LMDBError) -> Info {
        try using("mdb_env_info") { () throws(LMDBError) in
            var info = unsafe MDB_envinfo()
            let code = unsafe mdb_env_info(raw, &info)
            guard code == MDB_SUCCESS else { throw error(code, "mdb_env_info") }
            return unsafe Info(
                mapSize: info.me_mapsize, lastPage: info.me_last_pgno, lastTransaction: info.me_last_txnid,
                maxReaders: Int(info.me_maxreaders), readersInUse: Int(info.me_numreaders))
        }
    }

    /// The number of the last transaction of any process.
    public var lastTransaction: Int {
        get throws(LMDBError) {
            try using("mdb_env_info") { () throws(LMDBError) in
                var info = unsafe MDB_envinfo()
                let code = unsafe mdb_env_info(raw, &info)
                guard code == MDB_SUCCESS else { throw error(code, "mdb_env_info") }
                return unsafe Int(info.me_last_txnid)
            }
        }
    }

    /// Waits until all committed data is on the disk. Only useful with the option `scratch`.
    public func sync() throws(LMDBError) {
        try using("mdb_env_sync") { () throws(LMDBError) in
            let code = unsafe mdb_env_sync(raw, 1)
            guard code == MDB_SUCCESS else { throw error(code, "mdb_env_sync") }
        }
    }

    /// Returns the readers of all processes.
    public func readers() throws(LMDBError) -> [Reader] {
        try using("mdb_reader_list") { () throws(LMDBError) in
            var lines = ""
            // unsafe: C calls back only during the call, with the pointer passed here.
            let code = unsafe withUnsafeMutablePointer(to: &lines) { lines in
                unsafe mdb_reader_list(
                    raw,
                    { text, lines in
                        guard let text = unsafe text, let lines = unsafe lines else { return -1 }
                        unsafe lines.assumingMemoryBound(to: String.self).pointee += String(cString: text)
                        return 0
                    }, lines)
            }
            guard code >= 0 else { throw error(code, "mdb_reader_list") }
            return lines.split(separator: "\n").compactMap(Reader.init(line:))
        }
    }

    /// Frees the slots of readers whose process has died, and returns their number.
    @discardableResult
    public func clearStaleReaders() throws(LMDBError) -> Int {
        try using("mdb_reader_check") { () throws(LMDBError) in
            var count: Int32 = 0
            let code = unsafe mdb_reader_check(raw, &count)
            guard code == MDB_SUCCESS else { throw error(code, "mdb_reader_check") }
            return Int(count)
        }
    }
}

extension Environment.Reader {
    /// Parses a line of `mdb_reader_list`: process, thread in hexadecimal, and transaction or a dash. `nil` for the
    /// heading.
    init?(line: Substring) {
        let words = line.split(separator: " ")
        guard words.count == 3, let pid = Int32(words[0]), let thread = UInt(words[1], radix: 16) else { return nil }
        self.init(pid: pid, thread: thread, transaction: Int(words[2]))
    }
}

/// The map. Resizing replaces it, so no transaction may be open.
extension Environment {
    /// Resizes the map, but never below the size of its data. Throws `.busy` if a transaction is open.
    public func resize(to mapSize: Int) throws(LMDBError) {
        try alone("mdb_env_set_mapsize") { () throws(LMDBError) in
            let page = max(pageSize, Int(sysconf(Int32(_SC_PAGESIZE))))
            let rounded = mapSize.addingReportingOverflow(page - 1)
            guard mapSize > 0, !rounded.overflow else { throw error(.invalidArgument, "mdb_env_set_mapsize") }
            try remap(to: rounded.partialValue / page * page)
        }
    }

    /// The number of the map. Bytes of one snapshot keep their addresses as long as it is equal; read it inside a
    /// transaction, during which it cannot change.
    public var mapNumber: Int { remaps.load(ordering: .relaxed) }

    /// Adopts the size to which another process has grown the file, after `.mapResized`. Throws `.busy` if a
    /// transaction is open.
    public func adoptSize() throws(LMDBError) {
        try alone("mdb_env_set_mapsize") { () throws(LMDBError) in try remap(to: 0) }
    }

    private func remap(to mapSize: Int) throws(LMDBError) {
        // LMDB unmaps before it maps, and has no map left if that fails: try the address space first.
        if mapSize > 0 {
            let probe = unsafe mmap(nil, mapSize, PROT_NONE, MAP_PRIVATE | Self.anonymous, -1, 0)
            guard unsafe probe != MAP_FAILED else { throw error(errno, "mmap") }
            unsafe munmap(probe, mapSize)
        }
        remaps.add(1, ordering: .relaxed)
        let code = unsafe mdb_env_set_mapsize(raw, mapSize)
        guard code == MDB_SUCCESS else {
            if code != EINVAL { isMapLost.store(true, ordering: .relaxed) }
            throw error(code, "mdb_env_set_mapsize")
        }
    }

    private static var anonymous: Int32 {
        #if canImport(Darwin)
            MAP_ANON
        #else
            Int32(MAP_ANONYMOUS)
        #endif
    }
}
