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

    /// Adds a file.
    ///
    /// - Parameter name: its path from the folder of the export's XML.
    func add(_ name: String, _ file: File) {
        let name = RouteFiles.bare(name)
        files[name] = file
        byLastPart[RouteFiles.lastPart(name)] = byLastPart[RouteFiles.lastPart(name)] == nil ? .some(name) : .some(nil)
    }

    /// Returns the file to which a workout refers; `nil` if there is none.
    func file(_ reference: String) -> File? {
        let name = RouteFiles.bare(reference)
        guard let found = files[name] != nil ? name : byLastPart[RouteFiles.lastPart(name)] ?? nil else { return nil }
        named.insert(found)
        return files[found]
    }

    /// The bytes of each file to which no workout refers.
    var unnamed: [Int] { files.filter { !named.contains($0.key) }.map(\.value.bytes) }

    /// Workouts refer to files from the folder of the XML, with a slash before the name.
    private static func bare(_ name: String) -> String { String(name.drop { $0 == "/" || $0 == "." }) }

    private static func lastPart(_ name: String) -> String { name.split(separator: "/").last.map(String.init) ?? name }
}
