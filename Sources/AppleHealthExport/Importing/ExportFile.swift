import HealthKV
import HealthModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a person has of an export: the archive, the folder that was in it, the XML file alone, or a stream.
struct ExportFile {
    /// Gives the XML.
    let source: any ByteSource
    /// The size of the XML in bytes; `nil` for a stream.
    let size: Int?
    /// Identifies the file when it is read again; `nil` for a stream.
    let fingerprint: String?
    /// Files beside the XML that no import takes, by kind.
    let others: [(kind: String, bytes: Int)]
    /// Files beside the XML with the routes of workouts.
    let routes: RouteFiles

    /// XML of no more bytes takes no time worth a refusal.
    private static let unsuspiciousSize = 64 << 20
    /// The main file names itself within so many bytes, whatever it is called.
    private static let firstBytes = 4_096
    private static let marks = [Array("<!DOCTYPE HealthData".utf8), Array("<HealthData".utf8)]

    /// - Parameter expansion: how many times its compressed size an archive's XML may have; `nil` for any size.
    init(_ path: String, expansion: Int?) throws {
        if try path == "-" && !ZipArchive.isZip(path: path) || InputHandle.isNamedPipe(path) {
            try self.init(stream: FileSource(path: path), expansion: expansion)
            return
        }
        if path != "-", try FileManager.default.attributesOfItemIfThere(path) == .typeDirectory {
            try self.init(folder: path)
        } else if try ZipArchive.isZip(path: path) {
            try self.init(archive: path, expansion: expansion)
        } else {
            let source = try FileSource(path: path)
            self.init(
                source: source, size: source.size,
                fingerprint: source.size == nil
                    ? nil : try ExportFile.fingerprint(FileSource(path: path), source.size, path: path))
        }
    }

    /// A table of any kind.
    init(table path: String) throws {
        let source = try FileSource(path: path)
        let fingerprint =
            source.size == nil || path == "-"
            ? nil : try ExportFile.fingerprint(FileSource(path: path), source.size, path: path)
        self.init(source: source, size: source.size, fingerprint: fingerprint)
    }

    private init(
        source: any ByteSource, size: Int?, fingerprint: String?, others: [(kind: String, bytes: Int)] = [],
        routes: RouteFiles = RouteFiles()
    ) {
        self.source = source
        self.size = size
        self.fingerprint = fingerprint
        self.others = others
        self.routes = routes
    }

    /// A stream. An archive is read from its end, so it is copied to a temporary file first.
    private init(stream: FileSource, expansion: Int?) throws {
        var source = BegunSource(rest: stream)
        guard stream.size == nil, try source.beginsLikeArchive() else {
            self.init(source: source, size: nil, fingerprint: nil)
            return
        }
        let copy = try TemporaryFile(of: &source)
        // The archive keeps the file open.
        defer { copy.remove() }
        try self.init(archive: copy.path, title: stream.name, expansion: expansion)
    }

    private init(archive path: String, title: String? = nil, expansion: Int?) throws {
        let archive = try ZipArchive(path: path, title: title)
        let entries = archive.entries.filter { !$0.isFolder && !$0.isAppleDouble }
        var mains: [ZipEntry] = []
        var failure: (any Error)?
        for entry in entries where ExportFile.isXML(entry.name) {
            do {
                var source = try archive.source(of: entry) as any ByteSource
                if try ExportFile.isMain(&source) { mains.append(entry) }
            } catch {
                failure = error
            }
        }
        guard let main = mains.first else { throw failure ?? HealthImportError.noExport }
        if mains.count > 1 { throw HealthImportError.several(mains.map(\.name)) }
        // A damaged archive gives wrong values long before its checksum tells. So the checksum comes first.
        let whole = try archive.source(of: main)
        let (product, isVast) = main.compressedSize.multipliedReportingOverflow(by: expansion ?? .max)
        let most = isVast ? Int.max : max(product, ExportFile.unsuspiciousSize)
        var (piece, read) = ([UInt8](), 0)
        while try whole.read(into: &piece, atMost: 1 << 20) > 0 {
            read += piece.count
            if max(read, main.size) > most { throw HealthImportError.expands(main.name, limit: expansion ?? .max) }
            piece.removeAll(keepingCapacity: true)
        }
        let routes = RouteFiles()
        var others: [(kind: String, bytes: Int)] = []
        let folder = ExportFile.folder(of: main.name)
        for entry in entries where entry.offset != main.offset {
            if ExportFile.isRoute(entry.name) {
                routes.add(entry.name, in: folder, RouteFiles.File(bytes: entry.size) { try archive.source(of: entry) })
            } else if let kind = ExportFile.kind(of: entry.name) {
                others.append((kind, entry.size))
            }
        }
        self.init(
            source: try archive.source(of: main), size: main.size,
            fingerprint: path == "-"
                ? nil
                : try ExportFile.fingerprint(
                    archive.source(of: main), main.size, path: path, checksum: main.crc) + routes.mark,
            others: others, routes: routes)
    }

    private init(folder path: String) throws {
        var mains: [String] = []
        var failure: (any Error)?
        var others: [(kind: String, bytes: Int)] = []
        var found: [(name: String, file: RouteFiles.File)] = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: path).sorted() {
            let file = path + "/" + name
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: file),
                attributes[.type] as? FileAttributeType == .typeRegular
            else { continue }
            let isHidden = name.split(separator: "/").contains { $0.hasPrefix("._") || $0 == "__MACOSX" }
            if !isHidden, ExportFile.isXML(name) {
                do {
                    var source = try FileSource(path: file) as any ByteSource
                    if try ExportFile.isMain(&source) {
                        mains.append(name)
                        continue
                    }
                } catch {
                    failure = error
                }
            }
            let size = attributes[.size] as? Int ?? 0
            if isHidden { continue }
            if ExportFile.isRoute(name) {
                found.append((name, RouteFiles.File(bytes: size) { try FileSource(path: file) }))
            } else if let kind = ExportFile.kind(of: name) {
                others.append((kind, size))
            }
        }
        guard let main = mains.first else { throw failure ?? HealthImportError.noExport }
        if mains.count > 1 { throw HealthImportError.several(mains) }
        let (folder, routes) = (ExportFile.folder(of: main), RouteFiles())
        for (name, file) in found { routes.add(name, in: folder, file) }
        let xml = path + "/" + main
        let source = try FileSource(path: xml)
        self.init(
            source: source, size: source.size,
            fingerprint: try ExportFile.fingerprint(FileSource(path: xml), source.size, path: xml) + routes.mark,
            others: others, routes: routes)
    }

    /// The folder of a file, with a slash at its end; empty if the file stands in none.
    private static func folder(of name: String) -> String {
        name.lastIndex(of: "/").map { String(name[...$0]) } ?? ""
    }

    private static func isRoute(_ name: String) -> Bool { name.lowercased().hasSuffix(".gpx") }

    private static func isXML(_ name: String) -> Bool { name.lowercased().hasSuffix(".xml") }

    private static func isMain(_ source: inout any ByteSource) throws -> Bool {
        var bytes: [UInt8] = []
        while bytes.count < firstBytes, try source.read(into: &bytes, atMost: firstBytes - bytes.count) > 0 {}
        return marks.contains { bytes.span.firstPlace(of: $0, from: 0) != nil }
    }

    /// Returns what kind of file stands beside the main one.
    private static func kind(of name: String) -> String? {
        let lower = name.lowercased()
        if lower.hasSuffix(".json") { return "ClinicalRecord" }
        if lower.hasSuffix(".csv") { return "Electrocardiogram" }
        return lower.hasSuffix("cda.xml") ? "ClinicalDocument" : lower.hasSuffix(".xml") ? "Document" : nil
    }

    /// Returns a text that tells this file from others: its size, and the hash of its first megabyte, of its number and
    /// the time of its last change, and of the checksum that an archive has for it. A file that is taken for another
    /// one is read from its beginning, which adds nothing twice.
    private static func fingerprint(
        _ source: some ByteSource, _ size: Int?, path: String, checksum: UInt32? = nil
    ) throws -> String {
        var source = source
        var bytes: [UInt8] = []
        while bytes.count < 1 << 20, try source.read(into: &bytes, atMost: 1 << 20 - bytes.count) > 0 {}
        var digest = SHA256()
        digest.update(bytes)
        // A link stands for what it leads to.
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let attributes = try? FileManager.default.attributesOfItem(atPath: target)
        let changed = attributes?[.modificationDate] as? Date
        // Programs that unpack archives set the time, so another file may have the same one.
        let number = attributes?[.systemFileNumber] as? UInt64 ?? 0
        digest.update(Array("\(changed?.timeIntervalSinceReferenceDate ?? 0) \(number) \(checksum ?? 0)".utf8))
        return "\(size ?? 0) " + digest.finalize().prefix(16).map { String($0, radix: 16) }.joined(separator: ".")
    }
}

extension FileManager {
    /// Returns the kind of a file; `nil` if there is none.
    fileprivate func attributesOfItemIfThere(_ path: String) throws -> FileAttributeType? {
        guard fileExists(atPath: path) else { return nil }
        // A link stands for what it leads to.
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        return try attributesOfItem(atPath: target)[.type] as? FileAttributeType
    }
}
