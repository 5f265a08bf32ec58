import HealthKV
import TestSupport

/// A kind of damage to a file.
enum Damage: String, CaseIterable, Sendable {
    case truncated, flipped, flippedInTree, zeroed, swapped, stale, tail, metas, counts, noise, noisePage

    private static let pageSize = DamagedBase.pageSize

    /// Returns the damaged file.
    func done(to base: DamagedBase, _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = base.states[0]
        let pages = bytes.count / Damage.pageSize
        func page() -> Int { generator.number(0..<pages) * Damage.pageSize }
        switch self {
        case .truncated:
            let length = generator.chance(percent: 50) ? generator.number(0..<bytes.count) : page()
            bytes.removeLast(bytes.count - length)
        case .flipped:
            for _ in 0..<generator.number(1..<5) {
                bytes[generator.number(0..<bytes.count)] ^= 1 << UInt8(generator.number(0..<8))
            }
        case .flippedInTree:
            // Damages page headers and entries, which are at the end of a page.
            for _ in 0..<generator.number(1..<3) {
                let offset =
                    generator.chance(percent: 50) ? generator.number(0..<80) : generator.number(2_500..<Damage.pageSize)
                bytes[page() + offset] ^= 1 << UInt8(generator.number(0..<8))
            }
        case .zeroed:
            for _ in 0..<generator.number(1..<4) { Damage.fill(&bytes, page(), Damage.pageSize) { 0 } }
        case .swapped:
            for _ in 0..<generator.number(1..<3) {
                let (one, other) = (page(), page())
                for offset in 0..<Damage.pageSize { bytes.swapAt(one + offset, other + offset) }
            }
        case .stale:
            for _ in 0..<generator.number(1..<3) { Damage.takeBack(page(), &bytes, base, &generator) }
        case .tail: Damage.takeBackTail(page(), &bytes, base, &generator)
        case .metas: Damage.changeMetas(&bytes, base, &generator)
        case .counts: Damage.changeCounts(&bytes, &generator)
        case .noise:
            let count = generator.number(1..<65)
            Damage.fill(&bytes, generator.number(0..<bytes.count - count), count) { UInt8(generator.number(0..<256)) }
        case .noisePage: Damage.fill(&bytes, page(), Damage.pageSize) { UInt8(generator.number(0..<256)) }
        }
        return bytes
    }

    private static func fill(_ bytes: inout [UInt8], _ from: Int, _ count: Int, _ byte: () -> UInt8) {
        for index in from..<min(bytes.count, from + count) { bytes[index] = byte() }
    }

    /// Replaces a page with its content of some commits ago, if the file had that page then.
    private static func takeBack(
        _ page: Int, _ bytes: inout [UInt8], _ base: DamagedBase, _ generator: inout SeededGenerator
    ) {
        guard let old = base.states.dropFirst().randomElement(using: &generator), page + pageSize <= old.count else {
            return
        }
        bytes.replaceSubrange(page..<page + pageSize, with: old[page..<page + pageSize])
    }

    /// Replaces the end of the file with an older state, as after an interrupted copy of a changing file, or when the
    /// disk lost its latest writes.
    private static func takeBackTail(
        _ page: Int, _ bytes: inout [UInt8], _ base: DamagedBase, _ generator: inout SeededGenerator
    ) {
        guard let old = base.states.dropFirst().randomElement(using: &generator) else { return }
        // With the old meta pages too, the result would be a valid older file.
        let (page, end) = (max(page, 2 * pageSize), min(bytes.count, old.count))
        if page < end { bytes.replaceSubrange(page..<end, with: old[page..<end]) }
    }

    private static func changeMetas(_ bytes: inout [UInt8], _ base: DamagedBase, _ generator: inout SeededGenerator) {
        let place = generator.number(0..<2) * pageSize
        switch generator.number(0..<5) {
        case 0: bytes[place + generator.number(0..<152)] ^= 1 << UInt8(generator.number(0..<8))
        case 1: bytes[place + generator.number(0..<152)] = UInt8(generator.number(0..<256))
        case 2: fill(&bytes, place, 152) { 0 }
        case 3: takeBack(place, &bytes, base, &generator)
        default: bytes.replaceSubrange(place..<place + pageSize, with: bytes[pageSize - place..<2 * pageSize - place])
        }
    }

    /// Changes the counts of pages or entries in the record of a table, which follows the table's name.
    private static func changeCounts(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
        let name = Array(generator.pick(["chunks", "details", "identity", "summaries", "changes"]).utf8)
        let places = bytes.indices.dropLast(name.count + 48).filter { bytes[$0..<$0 + name.count].elementsEqual(name) }
        guard let place = places.randomElement(using: &generator) else { return }
        for _ in 0..<generator.number(1..<3) {
            // The counts of branch, leaf and overflow pages and of entries, eight bytes each.
            let number = place + name.count + 8 + generator.number(0..<4) * 8
            let byte = generator.chance(percent: 80) ? 0 : generator.number(1..<8)
            bytes[number + byte] ^= 1 << UInt8(generator.number(0..<8))
        }
    }
}
