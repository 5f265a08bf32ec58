import ColumnFormat
import PageReader

/// Whether the records that a walk meets are of the commits that they should be: the short ones by the sum in the header,
/// chunks that stand on leaf pages by their details.
struct RecordFreshness {
    private var sum: UInt64 = 0
    private var header: StoreHeader?
    private var chunks: [[UInt8]: UInt64] = [:]
    private var differ = false

    /// Chunks come before details, since tables are walked in the order of their names.
    mutating func note(_ entry: SnapshotWalk.Entry) throws {
        guard let code = StoredEntry.code(entry.table) else { return }
        switch code {
        case .chunks: if entry.leaf.isInline { chunks[entry.key] = try commit(entry) }
        case .details:
            if let chunk = chunks[entry.key], chunk != (try commit(entry)) { differ = true }
        case .meta where entry.key == StoreHeader.key:
            // Opening itself finds one that cannot be read.
            let bytes = try entry.value()
            header = RecordFreshness.header(bytes)
        default:
            if RecordSum.covers(code, entry.key) {
                sum &+= RecordSum.term(code, entry.key, commit: try commit(entry))
            }
        }
    }

    private func commit(_ entry: SnapshotWalk.Entry) throws -> UInt64 {
        let head = try entry.head(StoredValue.keyOffset)
        return StoredValue.commit(head: head.rawBytes)
    }

    private static func header(_ bytes: [UInt8]) -> StoreHeader? { try? StoreHeader(bytes.rawBytes) }

    /// A store without a sum was written before there was one.
    var isSound: Bool { !differ && header?.recordSum ?? sum == sum }
}
