#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV
import LMDB

/// How the verbs come to a store.
enum StoreAccess {
    /// Opens a store that is there, for reading only.
    static func openForReading(_ folder: String) throws -> SampleStore { try openForReading(folder, onNotice: tell) }

    /// Reopens a store without repeating its notices.
    static func reopenForReading(_ folder: String) throws -> SampleStore { try openForReading(folder) { _ in } }

    /// Opens a store that is there for what needs no content: of a sealed one too, whose key only its app has.
    static func openForCopying(_ folder: String) throws -> SampleStore {
        try openForReading(folder, ignoresSeal: true, onNotice: tell)
    }

    private static func openForReading(
        _ folder: String, ignoresSeal: Bool = false, onNotice: @escaping @Sendable (StoreNotice) -> Void
    ) throws -> SampleStore {
        guard holdsStore(folder) else { throw noStore(in: folder) }
        var options = SampleStore.Options()
        options.readOnly = true
        options.createIfMissing = false
        options.onNotice = onNotice
        options.limits.ignoresSeal = ignoresSeal
        return try SampleStore.open(at: folder, options: options)
    }

    /// Says what the person at the keyboard should know of a store, such as that it is read without locks or open to
    /// others.
    @Sendable static func tell(_ notice: StoreNotice) {
        let told: [StoreNotice.Code] = [.withoutLocks, .fileSystem, .permissions, .foreignOwner, .restored]
        guard told.contains(notice.code) else { return }
        try? OutputStream.error.send(Array("kvinspect: \(Table.clean("\(notice)"))\n".utf8))
    }

    static func noStore(in folder: String) -> Failure {
        Failure(
            "There is no store in \(name(folder)). Pass the folder that holds \(StoreFiles.data); 'kvinspect load' makes a new store."
        )
    }

    /// The name of a folder for a sentence, whose full stop must not be taken for a part of it.
    private static func name(_ folder: String) -> String { folder.hasSuffix(".") ? "'\(folder)'" : folder }

    /// Opens a store that is there, for changing something in it.
    static func openForChanging(_ folder: String) throws -> SampleStore {
        guard holdsStore(folder) else { throw noStore(in: folder) }
        var options = SampleStore.Options()
        options.createIfMissing = false
        // Whether backups include it is up to its app.
        options.isExcludedFromBackup = nil
        options.onNotice = tell
        return try SampleStore.open(at: folder, options: options)
    }

    /// Opens a store for writing, and makes it where there is none.
    static func openForLoading(_ folder: String) throws -> SampleStore {
        var options = SampleStore.Options()
        options.source = Source(name: "kvinspect")
        options.isExcludedFromBackup = nil
        options.onNotice = tell
        return try SampleStore.open(at: folder, options: options)
    }

    /// Removes the files of a store, and its folder if it holds nothing else and was not there before.
    static func remove(_ folder: String, withFolder: Bool) {
        for path in [StoreFiles.dataPath(in: folder), StoreFiles.lockPath(in: folder)] {
            try? FileManager.default.removeItem(atPath: path)
        }
        guard withFolder, (try? FileManager.default.contentsOfDirectory(atPath: folder))?.isEmpty ?? false else {
            return
        }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Whether there is a store, or may be one where this process may not look: opening it tells what is in the way.
    static func holdsStore(_ folder: String) -> Bool {
        let path = StoreFiles.dataPath(in: folder)
        if FileManager.default.fileExists(atPath: path) { return true }
        do {
            _ = try FileManager.default.attributesOfItem(atPath: path)
            return false
        } catch {
            return (error as? CocoaError)?.code == .fileReadNoPermission
        }
    }

    /// Throws if a new store cannot get a name, before there is any work.
    static func refuseTaken(_ folder: String) throws {
        if FileManager.default.fileExists(atPath: StoreFiles.dataPath(in: folder)) {
            throw Failure("There is a store in \(name(folder)) already. Pass a folder that does not exist yet.")
        }
        if holdsStore(folder) {
            throw Failure(
                "\(name(folder)) cannot be looked at: permission denied. Pass a folder in a place where you may write.")
        }
        let kind = try? FileManager.default.attributesOfItem(atPath: folder)[.type] as? FileAttributeType
        if let kind, kind != .typeDirectory {
            throw Failure("\(folder) is there already, and is no folder. Pass a folder that does not exist yet.")
        }
    }

    /// Whether both paths lead to one data file.
    static func isSame(_ folder: String, _ other: String) -> Bool {
        func identity(_ folder: String) -> [UInt64]? {
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: StoreFiles.dataPath(in: folder)),
                let device = attributes[.systemNumber] as? Int, let inode = attributes[.systemFileNumber] as? UInt64
            else { return nil }
            return [UInt64(bitPattern: Int64(device)), inode]
        }
        return identity(folder).map { $0 == identity(other) } ?? false
    }

    /// The size of the file of a store; `nil` where the system does not tell.
    static func dataBytes(in folder: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: StoreFiles.dataPath(in: folder)))?[.size] as? Int
    }

    /// The exit code of an error that the store gave.
    static func code(for error: any Error) -> ExitCode {
        guard let error = error as? StoreError else { return .failed }
        return error.code == .damaged ? .damage : .failed
    }

    /// The text of an error, with advice for a user at a terminal: some of the store's own advice is for programmers.
    static func text(for error: any Error) -> String {
        guard let error = error as? StoreError, let advice = advice(for: error) else { return "\(error)" }
        return "\(error.path): \(error.detail)\(error.cause). \(advice)"
    }

    private static func advice(for error: StoreError) -> String? {
        let store = ShellWord.of(error.path)
        return switch error.code {
        case .noStore: "Check the path; 'kvinspect load' makes a new store."
        case .notAStore: "Pass the folder that holds \(StoreFiles.data); 'kvinspect load' also takes an empty folder."
        case .damaged where error.path.isEmpty || error.remedy != nil: nil
        case .damaged:
            "Keep a copy of the folder first; 'kvinspect check \(store)' lists the damage, and "
                + "'kvinspect repair \(store) --output NEW' saves what it can."
        case .tokenExpired:
            "Run 'kvinspect changes \(store)' without --since once, and go on from the last token that it prints."
        case .wrongKey where error.remedy != nil: nil
        case .wrongKey:
            "Only its app has the key. Without it, 'kvinspect check', 'info', 'pages', 'backup' and 'compact' work."
        case .full: "Free space on the disk, or allow larger files. Nothing of this step was stored."
        case .mixedUnits: "'kvinspect scan' prints the samples one by one, each in its own unit."
        case .unsuitableQuery where error.remedy != nil:
            "Choose a shorter range with --from and --to, or longer buckets."
        case .unsuitableQuery: "Ask for what the type has; 'kvinspect types' prints its unit."
        case .unsafeFolder where error.isOfLink: nil
        case .unsafeFolder: "Work as the user to whom the store belongs, or with a copy."
        case .unsafeFileSystem: "Copy the folder to a local disk while nobody writes to it, and use the copy."
        case .accessDenied:
            "Correct the permissions (0700 for the folder, 0600 for its files). Where nothing may be written, work with a copy."
        case .poisoned: "Run 'kvinspect check \(store)', and look at what was stored before you go on."
        case .outcomeUnknown:
            "Run 'kvinspect check \(store)' and look at what was stored before you go on: samples without ids would be doubled."
        case .readOnly: "It can be read, and a copy of it can be changed."
        case .closed, .nested, .growthBlocked, .replaced, .suspended, .forked, .readerExpired, .unfinished:
            "Run the command again."
        default: nil
        }
    }
}

/// A store that a verb is about to make. When the verb fails before anything is in it, nothing is left of it.
struct NewStore {
    private let folder: String
    /// The folders that are made for it: its own, and those above that are not there, from below.
    private let made: [String]

    init(_ folder: String) {
        self.folder = folder
        var made: [String] = []
        var path = folder
        while path != ".", !FileManager.default.fileExists(atPath: path) {
            while path.count > 1, path.hasSuffix("/") { path.removeLast() }
            made.append(path)
            path = FileSystem.parent(of: path)
        }
        self.made = made
    }

    func removeIfEmpty(_ store: SampleStore) {
        guard let count = try? store.read({ try $0.count() }), count == 0, (try? store.close()) != nil else { return }
        StoreAccess.remove(folder, withFolder: !made.isEmpty)
        // Only folders that are empty go.
        for above in made.dropFirst() { guard FileSystem.removeFolder(above) else { return } }
    }
}
