#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A file that a verb is about to write: it appears whole, or not at all.
struct NewFile {
    let path: String
    private let replaces: Bool

    /// Decides whether a file may be written, before there is any work.
    ///
    /// - Parameters:
    ///   - replaces: whether a file that is there may be replaced.
    ///   - store: a folder to which nothing is added.
    init(_ path: String, replaces: Bool, outside store: String) throws {
        (self.path, self.replaces) = (path, replaces)
        guard NewFile.folder(of: path) != URL(fileURLWithPath: store).resolvingSymlinksInPath().path else {
            throw Failure("\(path) lies in the folder of the store. Choose a place outside.")
        }
        guard FileManager.default.fileExists(atPath: NewFile.folder(of: path)) else {
            throw Failure("\(path) cannot be written: its folder does not exist.")
        }
        guard FileManager.default.isWritableFile(atPath: NewFile.folder(of: path)) else {
            throw Failure("\(path) cannot be written: nothing can be added to its folder.")
        }
        // A link is itself what has the name, wherever it leads.
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return }
        guard replaces else { throw exists }
        guard attributes[.type] as? FileAttributeType == .typeRegular else {
            throw Failure("\(path) is no file, and is not replaced. Choose another name.")
        }
    }

    /// Writes the bytes to a temporary name beside the file, and then gives it its name.
    func write(_ bytes: [UInt8]) throws {
        if replaces {
            try naming { try Data(bytes).write(to: URL(fileURLWithPath: path), options: .atomic) }
            return try naming { try NewFile.hide(path) }
        }
        let name = URL(fileURLWithPath: path).lastPathComponent
        let temporary = "\(NewFile.folder(of: path))/.\(name).\(UUID().uuidString).partial"
        defer { try? FileManager.default.removeItem(atPath: temporary) }
        try naming {
            try Data(bytes).write(to: URL(fileURLWithPath: temporary), options: .withoutOverwriting)
            try NewFile.hide(temporary)
        }
        do {
            // Unlike a new name, a link never takes the place of a file that came meanwhile.
            try FileManager.default.linkItem(atPath: temporary, toPath: path)
        } catch {
            if FileManager.default.fileExists(atPath: path) { throw exists }
            // Some file systems have no links.
            try naming { try FileManager.default.moveItem(atPath: temporary, toPath: path) }
        }
    }

    private var exists: Failure { Failure("\(path) exists already. Choose another name, or pass --force.") }

    private func naming(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            throw Failure("\(path) cannot be written: \(FileReason.text(of: error)).")
        }
    }

    /// Lets nobody else read a file that tells what a store holds.
    private static func hide(_ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    private static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().resolvingSymlinksInPath().path
    }
}
