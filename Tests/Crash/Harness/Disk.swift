import Foundation
import TestSupport

/// A model of the data file on a disk: the durable content, and later writes, any part of which may be on the medium.
struct Disk {
    static let sectorBytes = 512
    static let pageBytes = 4_096

    private struct Pending {
        var offset: Int
        var bytes: ArraySlice<UInt8>
    }

    private(set) var durable: [UInt8] = []
    private var pending: [Pending] = []
    /// Whether the file has its name, and whether the name would survive a power cut.
    private(set) var isNamed = false
    private(set) var nameIsDurable = false

    init() {}

    /// A disk that already holds a file.
    init(holding file: [UInt8]) {
        durable = file
        (isNamed, nameIsDurable) = (true, true)
    }

    /// Whether a power cut now has several possible outcomes. An unnamed file cannot be found, whatever it contains.
    var isOpen: Bool { isNamed && (!pending.isEmpty || !nameIsDurable) }

    mutating func apply(_ event: Timeline.Event) {
        switch event {
        case .write(let offset, let bytes, let isSynced):
            if isSynced {
                Disk.put(bytes, offset, into: &durable)
            } else {
                pending.append(Pending(offset: offset, bytes: bytes))
            }
        case .truncate(let size):
            // Treated as durable at once, because a store never shortens its file.
            durable.removeLast(max(0, durable.count - size))
            durable += [UInt8](repeating: 0, count: size - durable.count)
        case .sync:
            durable = whole
            pending = []
        case .named: isNamed = true
        case .nameSynced: nameIsDurable = isNamed
        case .line, .ofJournal: break
        }
    }

    private static func put(_ bytes: ArraySlice<UInt8>, _ offset: Int, into image: inout [UInt8]) {
        let end = offset + bytes.count
        if image.count < end { image += [UInt8](repeating: 0, count: end - image.count) }
        image.replaceSubrange(offset..<end, with: bytes)
    }

    /// The file as the process sees it, and as a killed process leaves it.
    var whole: [UInt8] {
        var image = durable
        for write in pending { Disk.put(write.bytes, write.offset, into: &image) }
        return image
    }

    /// A possible file after a power cut, with any of the sectors written since the last sync. `nil`: no file.
    func cut(_ generator: inout SeededGenerator) -> [UInt8]? {
        if !isNamed || !nameIsDurable && generator.chance(percent: 50) { return nil }
        let pieces = pieces(of: generator.chance(percent: 25) ? Disk.pageBytes : Disk.sectorBytes)
        let kept = Disk.choose(pieces.count, &generator)
        var image = durable
        for (piece, isKept) in zip(pieces, kept) where isKept { Disk.put(piece.bytes, piece.offset, into: &image) }
        // The file may have grown before its new bytes were written.
        if let end = pieces.map({ $0.offset + $0.bytes.count }).max(), end > image.count, generator.chance(percent: 30)
        {
            image += [UInt8](repeating: 0, count: end - image.count)
        }
        return image
    }

    private func pieces(of size: Int) -> [Pending] {
        pending.flatMap { write in
            var pieces: [Pending] = []
            var place = write.bytes.startIndex
            while place < write.bytes.endIndex {
                let offset = write.offset + place - write.bytes.startIndex
                let end = min(write.bytes.endIndex, place + size - offset % size)
                pieces.append(Pending(offset: offset, bytes: write.bytes[place..<end]))
                place = end
            }
            return pieces
        }
    }

    /// Chooses the pieces that reached the disk: about half, few, most, all but one, only one, or only the last ones.
    private static func choose(_ count: Int, _ generator: inout SeededGenerator) -> [Bool] {
        let one = count > 0 ? generator.number(0..<count) : 0
        switch generator.number(0..<6) {
        case 0: return (0..<count).map { $0 == one }
        case 1: return (0..<count).map { $0 != one }
        case 2: return (0..<count).map { $0 >= one }
        case let mode:
            let percent = [50, 10, 90][mode - 3]
            return (0..<count).map { _ in generator.chance(percent: percent) }
        }
    }
}

/// The two files of a store on a disk.
struct StoreDisk {
    /// Possible contents of both; `nil` for a file that is not there.
    struct Image {
        var data: [UInt8]?
        var journal: [UInt8]?
    }

    private(set) var data: Disk
    private(set) var journal = Disk()

    /// - Parameter base: the files that an earlier run has left.
    init(base: Image? = nil) {
        data = base?.data.map { Disk(holding: $0) } ?? Disk()
        journal = base?.journal.map { Disk(holding: $0) } ?? Disk()
    }

    var isOpen: Bool { data.isOpen || journal.isOpen }
    var isNamed: Bool { data.isNamed }

    mutating func apply(_ event: Timeline.Event) {
        if case .ofJournal(let event) = event { journal.apply(event) } else { data.apply(event) }
    }

    /// The files as the process sees them, and as a killed process leaves them.
    var whole: Image {
        Image(data: data.isNamed ? data.whole : nil, journal: journal.isNamed ? journal.whole : nil)
    }

    /// Possible files after a power cut.
    func cut(_ generator: inout SeededGenerator) -> Image {
        let data = data.cut(&generator)
        return Image(data: data, journal: journal.cut(&generator))
    }
}

extension StoreDisk.Image {
    /// The name of the journal beside a data file of this name.
    static func journal(beside path: String) -> String {
        path.hasSuffix("/data.mdb") ? String(path.dropLast("mdb".count)) + "journal" : path + ".journal"
    }

    init(at path: String) throws {
        data = try RawFile.bytes(of: path)
        journal = try? RawFile.bytes(of: StoreDisk.Image.journal(beside: path))
    }

    /// Writes the files, and removes those that are not there.
    func write(to path: String) throws {
        for (path, bytes) in [(path, data), (StoreDisk.Image.journal(beside: path), journal)] {
            if let bytes {
                try RawFile(path).replace(with: bytes)
            } else {
                try? FileManager.default.removeItem(atPath: path)
            }
        }
    }
}
