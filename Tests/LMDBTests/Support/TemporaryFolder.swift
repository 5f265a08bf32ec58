#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An empty folder that goes, with the files in it, when the value does.
struct TemporaryFolder: ~Copyable {
    let path: String

    init() {
        let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        var template = Array((parent + "/lmdb-tests-XXXXXX").utf8CString)
        guard let made = unsafe mkdtemp(&template) else { fatalError("no temporary folder in \(parent)") }
        path = unsafe String(cString: made)
    }

    /// A folder inside, made on the spot.
    func inner(_ name: String) -> String {
        let inner = path + "/" + name
        _ = unsafe mkdir(inner, 0o700)
        return inner
    }

    static func entries(of folder: String) -> [String] {
        guard let directory = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private static func remove(_ folder: String) {
        for name in entries(of: folder) {
            let entry = folder + "/" + name
            if unsafe unlink(entry) != 0 { remove(entry) }
        }
        _ = unsafe rmdir(folder)
    }

    deinit {
        Self.remove(path)
    }
}

/// Permissions and size of a file.
func fileStatus(_ path: String) -> (mode: mode_t, size: Int)? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return (status.st_mode & 0o777, Int(status.st_size))
}
