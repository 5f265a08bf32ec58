import PageReader
import Testing
import TestSupport

@Suite("Random damage to pages")
struct RandomDamageTests {
    @Test("The walk over a damaged file ends, and each value that it yields can be read or is refused")
    func everyWalkEnds() throws {
        let sample = try SampleFile(rounds: 12)
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<400 {
            var bytes = sample.bytes
            for _ in 0..<Int.random(in: 1...8, using: &random) { damage(&bytes, &random) }
            let file = PageFile(bytes: bytes)
            let metas = MetaPages(file)
            for meta in metas.pages.compactMap({ $0 }) {
                var size = 0
                _ = SnapshotWalk(file, meta, visits: { _ in true }) { size += (try? $0.value().count) ?? 0 }
                #expect(size <= bytes.count)
            }
        }
    }

    private func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        if bytes.isEmpty { return }
        let page = Int.random(in: 0...bytes.count / 4_096, using: &random) * 4_096
        let place = min(
            bytes.count - 1, page + Int.random(in: 0..<(Bool.random(using: &random) ? 64 : 4_096), using: &random))
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[place] = [0, 0xFF, 0x7F, 0x80].randomElement(using: &random)!
        case 2:
            for index in place..<min(bytes.count, place + 16) {
                bytes[index] = UInt8.random(in: 0...255, using: &random)
            }
        default: if Int.random(in: 0..<8, using: &random) == 0 { bytes.removeLast(bytes.count - place) }
        }
    }
}
