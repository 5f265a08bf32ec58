import LMDB

/// The conditions that a folder and its files must meet before a store in it is opened: names, owners, permissions,
/// file system.
struct OpeningRules {
    let folder: String
    let options: StoreOptions
    let notices: NoticeBoard

    private var data: String { StoreFiles.dataPath(in: folder) }
    private var lock: String { StoreFiles.lockPath(in: folder) }

    /// Throws if the store must not be opened. A folder that does not exist breaks no rule.
    func check() throws(StoreError) {
        guard let status = FileSystem.statusOfLink(folder) else {
            try OpeningRules.refuseUnseen(folder)
            return try checkFileSystem(of: existingParent)
        }
        try OpeningRules.refuseLinks(folder)
        guard status.kind == .folder else {
            throw StoreError(
                .notAStore, path: folder, "This is a file, not a folder; a store is a folder with data.mdb in it")
        }
        try checkFileSystem(of: folder)
        try checkOwner(folder, status)
        for file in [data, lock] {
            guard let status = FileSystem.statusOfLink(file) else {
                try OpeningRules.refuseUnseen(file)
                continue
            }
            guard status.kind == .file else {
                if file == data {
                    throw StoreError(.notAStore, path: file, "This is no file, so the folder holds no store")
                }
                throw StoreError(
                    .unsafeFolder, path: file,
                    "This is no regular file, and a store keeps its locks here: remove it while the store is closed")
            }
            try checkOwner(file, status)
            if status.isOpenToOthers {
                post(.permissions, file, "Others than the owner may read or change it (\(octal(status.mode)))")
            }
        }
        if status.isOpenToOthers {
            post(
                .permissions, folder,
                "Others than the owner may look into the folder or change it (\(octal(status.mode)))")
        }
        try checkAccess()
    }

    private func post(_ code: StoreNotice.Code, _ path: String, _ detail: String) { notices.post(code, path, detail) }

    private func octal(_ mode: UInt32) -> String { "permissions 0" + String(mode, radix: 8) }

    private var existingParent: String {
        var parent = FileSystem.parent(of: folder)
        while FileSystem.statusOfLink(parent) == nil, parent != "/", parent != "." {
            parent = FileSystem.parent(of: parent)
        }
        return parent
    }

    /// Throws if the folder or a file in it is a symbolic link. Links on the path to the folder are the system's
    /// affair.
    static func refuseLinks(_ path: String) throws(StoreError) {
        // With a slash at its end, a path means what a link leads to.
        var folder = path
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        for path in [folder, StoreFiles.dataPath(in: folder), StoreFiles.lockPath(in: folder)]
        where FileSystem.statusOfLink(path)?.kind == .symbolicLink {
            var refusal = StoreError(
                .unsafeFolder, path: path,
                "This is a symbolic link, by which another could lead the store's data elsewhere")
            refusal.remedy = path == folder ? "Pass the folder that it leads to." : "Put the file itself there."
            refusal.isOfLink = true
            throw refusal
        }
    }

    /// Throws if this process may not look at a path: then it cannot know whether anything is there.
    private static func refuseUnseen(_ path: String) throws(StoreError) {
        guard let code = FileSystem.lookFailure(path) else { return }
        let cause = LMDBError(.init(rawValue: code), operation: "lstat", path: path)
        if cause.isRefusal {
            throw StoreError(
                .accessDenied, path: path, "This process may not look whether it is there", underlying: cause)
        }
        throw StoreError(.storage, path: path, "The system cannot look whether it is there", underlying: cause)
    }

    private func checkOwner(_ path: String, _ status: FileStatus) throws(StoreError) {
        let user = FileSystem.effectiveUser
        guard status.owner != user else { return }
        guard options.readOnly || options.tolerated.contains(.foreignOwner) else {
            var refusal = StoreError(
                .unsafeFolder, path: path, "It belongs to user \(status.owner), and this process works for user \(user)"
            )
            refusal.remedy = "Move the store to a folder of its user, or open it with the option that tolerates this."
            throw refusal
        }
        post(.foreignOwner, path, "It belongs to user \(status.owner), and this process works for user \(user)")
    }

    private func checkFileSystem(of path: String) throws(StoreError) {
        switch options.limits.fileSystem ?? FileSystem.kind(of: path) {
        case .local: return
        case .overlay:
            post(
                .fileSystem, folder,
                "The store lies on an overlay file system: changes are lost with its upper layer")
        case .remote(let name):
            guard options.tolerated.contains(.remoteFileSystem) else {
                throw StoreError(
                    .unsafeFileSystem, path: folder,
                    "The store lies on \(name), where memory maps and locks of several machines cannot be relied on")
            }
            post(.fileSystem, folder, "The store lies on \(name), where memory maps and locks cannot be relied on")
        }
    }

    /// Reports missing permissions for which LMDB would throw a bare error code.
    private func checkAccess() throws(StoreError) {
        guard FileSystem.statusOfLink(data) != nil else { return }
        guard FileSystem.isReadable(data) else {
            throw StoreError(.accessDenied, path: data, "The file may not be read by this process")
        }
        guard !options.readOnly, !(FileSystem.isWritable(data) && FileSystem.isWritable(folder)) else { return }
        let what = FileSystem.isWritable(data) ? folder : data
        throw StoreError(.accessDenied, path: what, "It may not be written to by this process")
    }

    /// Whether LMDB can register readers: the lock file can be written to, or created.
    var canLock: Bool {
        guard let status = FileSystem.statusOfLink(lock) else {
            // A lock file created by another user would lock the owner out.
            let isOwn = FileSystem.statusOfLink(folder)?.owner == FileSystem.effectiveUser
            return FileSystem.isWritable(folder) && (isOwn || options.tolerated.contains(.foreignOwner))
        }
        return status.kind == .file && FileSystem.isWritable(lock)
    }
}
