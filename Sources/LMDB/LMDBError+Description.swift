import LMDBInC

extension LMDBError: CustomStringConvertible {
    /// The failed call, the file, and the remedy.
    public var description: String {
        // After such a step the usual advice for a full disk, that nothing was stored, would be wrong.
        let advice = leavesOutcomeUnknown ? LMDBError.Code.io.advice : code.advice
        return "\(reason). \(advice)"
    }

    /// The failed call and the file, for a text that has a remedy of its own.
    public var reason: String { "\(operation) failed (\(code.rawValue)) in \(path): \(code.description)" }
}

extension LMDBError.Code: CustomStringConvertible {
    /// The meaning of the code.
    public var description: String {
        switch self {
        case .keyTooLong: "the key is longer than a key may be"
        case .forked: "the process was forked after the environment was opened"
        case .closed: "the environment is closed"
        case .notSealed: "the cipher did not seal a value"
        case .badTable: "the table handle is not valid here"
        case .folderHeld: "another program has held the lock of the folder for too long"
        default: unsafe String(cString: mdb_strerror(rawValue))
        }
    }

    /// The remedy for a user or a developer.
    public var advice: String {
        switch self {
        case .keyExists: "Use put to replace the value, and append only keys in ascending order."
        case .notFound: "Treat it as absent."
        case .pageNotFound, .corrupted, .invalid:
            "The file is damaged or not a store: leave it as it is, and repair a copy or restore a backup."
        case .panic, .io:
            "The outcome of the last write is unknown: close, check the disk, open again and check the file."
        case .versionMismatch: "Open it with the version of LMDB that wrote it."
        case .mapFull: "Delete data, or open the environment with a larger map."
        case .tablesFull: "Open the environment with more tables."
        case .readersFull: "Too many read at once: let some end, clear stale readers, or open with more readers."
        case .transactionFull: "Split the work into smaller transactions."
        case .mapResized: "Let the transactions of this process end, adopt the new size, and try again."
        case .badTransaction: "An earlier call failed: give this transaction up and begin another."
        case .badValueSize: "A key has at least one byte, a value less than 4 GiB."
        case .keyTooLong: "Shorten the key, or hash it and keep the original in the value."
        case .forked: "Open the environment again in the child process."
        case .closed: "Open it again."
        case .notSealed: "See why the cipher failed; nothing of this transaction was stored."
        case .badTable: "Open the table in this environment, in a transaction that commits."
        case .noSpace: "Free space on the disk; nothing of this transaction was stored."
        case .accessDenied: "Check the permissions of the folder and its files, and whether it was opened for reading."
        case .noSuchFile: "Create the folder first."
        case .fileExists: "Choose an empty folder."
        case .noMemory: "Allow the process more memory, or open the environment with a smaller map."
        case .busy: "Let the other transactions end, then try again in a new one."
        case .folderHeld: "End the program that locks the folder, such as 'flock', or let a stopped process go on."
        case .wouldDeadlock: "This thread already has a write transaction: end it first, or nest."
        default: "See the code of LMDB or of the operating system."
        }
    }
}
