import HealthKV

/// The files with routes beside an export, by the names under which its workouts refer to them.
final class RouteFiles {
    /// A file that nobody has read yet.
    struct File {
        let bytes: Int
        let open: () throws -> any ByteSource
    }

    private var files: [String: File] = [:]
    /// Files by the last part of their names; `nil` where several share it.
    private var byLastPart: [String: String?] = [:]
    private var named: Set<String> = []
    /// The bytes of files whose names another file has.
    private var repeated: [Int] = []

    /// Adds a file.
    ///
    /// - Parameter folder: the folder of the export's XML, from which workouts name their files.
    func add(_ name: String, in folder: String, _ file: File) {
        let name = RouteFiles.bare(name.hasPrefix(folder) ? String(name.dropFirst(folder.count)) : name)
        guard files[name] == nil else {
            repeated.append(file.bytes)
            return
        }
        files[name] = file
        byLastPart[RouteFiles.lastPart(name)] = byLastPart[RouteFiles.lastPart(name)] == nil ? .some(name) : .some(nil)
    }

    /// Returns the file to which a workout refers; `nil` if there is none, or another route has it: a file that all
    /// routes name is read once.
    func file(_ reference: String) -> File? {
        let name = RouteFiles.bare(reference)
        guard let found = files[name] != nil ? name : byLastPart[RouteFiles.lastPart(name)] ?? nil,
            named.insert(found).inserted
        else { return nil }
        return files[found]
    }

    /// The bytes of each file to which no workout refers.
    var unnamed: [Int] { files.filter { !named.contains($0.key) }.map(\.value.bytes) + repeated }

    /// A text that tells these files from others by names and sizes; empty if there are none.
    var mark: String {
        if files.isEmpty { return "" }
        var digest = SHA256()
        for (name, file) in files.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            digest.update(Array("\(name) \(file.bytes)\n".utf8))
        }
        return " " + digest.finalize().prefix(8).map { String($0, radix: 16) }.joined(separator: ".")
    }

    /// Workouts refer to files from the folder of the XML, with a slash before the name.
    private static func bare(_ name: String) -> String { String(name.drop { $0 == "/" || $0 == "." }) }

    private static func lastPart(_ name: String) -> String { name.split(separator: "/").last.map(String.init) ?? name }
}
