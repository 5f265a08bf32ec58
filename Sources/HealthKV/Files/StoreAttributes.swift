import LMDB

/// Sets the attributes that the options name on the folder of a store, the files in it and its copies.
///
/// A file takes the protection class of the folder that it is created in. So the folder comes first, and only files
/// that an earlier opening left need a call of their own. Excluding a folder from backups excludes everything in it.
struct StoreAttributes {
    let options: StoreOptions
    let notices: NoticeBoard

    /// Call this before files are created in the folder.
    func apply(toFolder folder: String) {
        protect(folder)
        if let isExcluded = options.isExcludedFromBackup { set(.excludedFromBackup(isExcluded), folder) }
    }

    /// Call this once all files of an open store exist.
    func apply(toFilesIn folder: String) {
        guard options.fileProtection != nil else { return }
        for name in FileSystem.names(in: folder) ?? [] where StoreAttributes.isOfStore(name) {
            protect(folder + "/" + name)
        }
    }

    /// A copy is as secret as the store. Whether backups include it is up to the caller that makes it.
    func apply(toCopy folder: String) { protect(folder) }

    private static func isOfStore(_ name: String) -> Bool {
        name == StoreFiles.data || name == FileReplacement.nextName
            || !name.hasPrefix(".") && StoreFiles.isOwnName(name)
    }

    private func protect(_ path: String) {
        if let protection = options.fileProtection { set(.protection(protection), path) }
    }

    private func set(_ attribute: StoreAttribute, _ path: String) {
        let failure: String?
        if let note = options.limits.setAttribute {
            failure = note(attribute, path)
        } else {
            #if canImport(Darwin)
                failure = SystemAttributes.set(attribute, path)
            #else
                failure = nil
            #endif
        }
        if let failure { notices.post(.attribute, path, "\(StoreAttributes.words(attribute)): \(failure)") }
    }

    private static func words(_ attribute: StoreAttribute) -> String {
        switch attribute {
        case .protection(let protection): "The protection class \(protection.rawValue) cannot be set"
        case .excludedFromBackup(true): "It cannot be excluded from backups"
        case .excludedFromBackup(false): "It cannot be included in backups"
        }
    }
}
