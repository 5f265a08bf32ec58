import AppleHealthExport
import TestSupport
import Testing

@testable import AppleHealthExport

/// Archives with random changes: each is opened and read to the end or refused, and neither crashes nor grows.
@Suite("Changed zip archives")
struct ZipMutationTests {
    /// Deflate makes at most 1,032 bytes of one, and no byte of an archive is read for two entries.
    private static let growthMax = 1032

    @Test("20,000 changed archives give bytes or an error, and never more bytes than they can hold")
    func mutations() throws {
        var random = SeededGenerator()
        let bases = Self.bases(&random)
        var (opened, refused, whole, broken) = (0, 0, 0, 0)
        for round in 0..<20_000 {
            let bytes = Self.changed(random.pick(bases), &random)
            let archive: ZipArchive
            do throws(ArchiveError) {
                archive = try ZipArchive(bytes: bytes, name: "made.zip")
                opened += 1
            } catch {
                refused += 1
                continue
            }
            let place = "seed \(random.seed), round \(round)"
            if archive.entries.count > bytes.count / ZipFormat.entrySize { Issue.record("\(place): too many entries") }
            var total = 0
            var buffer: [UInt8] = []
            for entry in archive.entries {
                do throws(ArchiveError) {
                    let source = try archive.source(of: entry)
                    let count = random.number(1..<5000)
                    while true {
                        buffer.removeAll(keepingCapacity: true)
                        let read = try source.read(into: &buffer, atMost: count)
                        if read != buffer.count || read > count { Issue.record("\(place): a wrong count") }
                        total += read
                        if read == 0 { break }
                    }
                    whole += 1
                } catch {
                    broken += 1
                }
            }
            if total > Self.growthMax * bytes.count { Issue.record("\(place): \(total) bytes of \(bytes.count)") }
            if buffer.capacity > 1 << 20 { Issue.record("\(place): a buffer of \(buffer.capacity) bytes") }
        }
        // All kinds of outcomes occur.
        #expect(opened > 1000 && refused > 1000 && whole > 1000 && broken > 1000, "seed \(random.seed)")
    }

    /// Small archives with all kinds of records.
    private static func bases(_ random: inout SeededGenerator) -> [[UInt8]] {
        let text = Array(String(repeating: "<Record value=\"7\"/>\n", count: 40).utf8)
        let noise = (0..<300).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
        var plain = HandmadeArchive(.init("a/", []), .init("a/b.txt", noise), .init(deflated: "a/导出.xml", text))
        var wide = plain
        wide.hasWideEnd = true
        for index in wide.entries.indices {
            wide.entries[index].isWide = true
            wide.entries[index].hasDescriptor = true
        }
        plain.comment = Array("PK\u{5}\u{6} comment".utf8)
        var shifted = wide
        shifted.junk = noise
        var bomb = HandmadeArchive(.init(deflated: "0", [UInt8](repeating: 0, count: 50_000)))
        bomb.entries += [.init(deflated: "1", text), .init("2", noise)]
        return [plain, wide, shifted, bomb, HandmadeArchive()].map(\.bytes)
    }

    /// Makes one to eight changes: of bits, bytes, whole fields, and of where bytes lie.
    private static func changed(_ base: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = base
        for _ in 0..<(random.chance(0.5) ? 1 : random.number(2..<9)) {
            guard bytes.count > 8 else { break }
            // Most changes concern the end, where the directory is.
            let low = random.chance(0.7) ? max(0, bytes.count - 300) : 0
            let place = random.number(low..<bytes.count)
            switch random.number(0..<8) {
            case 0: bytes[place] ^= 1 << UInt8(random.number(0..<8))
            case 1: bytes[place] = UInt8.random(in: 0 ... .max, using: &random)
            case 2, 3:
                let values: [UInt8] = [0, 1, 0x7F, 0x80, 0xFF]
                let value = random.pick(values)
                for index in place..<min(bytes.count, place + random.pick([2, 4, 8])) { bytes[index] = value }
            case 4: bytes.removeSubrange(place..<min(bytes.count, place + random.number(1..<40)))
            case 5: bytes.removeLast(min(bytes.count, random.number(1..<60)))
            case 6:
                let from = random.number(0..<bytes.count)
                bytes.insert(contentsOf: bytes[from..<min(bytes.count, from + random.number(1..<120))], at: place)
            default:
                let from = random.number(0..<bytes.count)
                let count = min(random.number(1..<60), bytes.count - from, bytes.count - place)
                let copy = Array(bytes[from..<from + count])
                bytes.replaceSubrange(place..<place + count, with: copy)
            }
        }
        return bytes
    }
}
