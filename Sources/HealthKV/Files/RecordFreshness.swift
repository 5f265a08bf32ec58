import ColumnFormat
import PageReader

/// Checks that the records that a walk meets belong to the right commits: compares most records with the sum in the
/// header, and details on leaf pages with their chunks.
struct RecordFreshness {
    private var sum: UInt64 = 0
    private var header: StoreHeader?
    private var chunks: [[UInt8]: UInt64] = [:]
    private var differ = false

    /// Chunks come before details, because tables are walked in the order of their names.
    mutating func note(_ stored: StoredEntry) throws {
        let key = stored.entry.key
        switch stored.code {
        case .chunks:
            if stored.entry.leaf.isInline { chunks[Array(key.prefix(ChunkKey.byteCount))] = try stored.commit() }
            if let commit = RecordSum.commit(key, .chunks) { sum &+= RecordSum.term(.chunks, key, commit: commit) }
        case .details:
            if let chunk = chunks[key], chunk != (try stored.commit()) { differ = true }
        case .meta where key == StoreHeader.key:
            // Opening itself detects an unreadable header.
            let bytes = try stored.entry.value()
            header = RecordFreshness.header(bytes)
        default:
            if RecordSum.covers(stored.code, key) {
                sum &+= RecordSum.term(stored.code, key, commit: try stored.commit())
            }
        }
    }

    private static func header(_ bytes: [UInt8]) -> StoreHeader? { try? StoreHeader(bytes.rawBytes) }

    /// A store without a sum was written before the sum existed.
    var isSound: Bool { !differ && header?.recordSum ?? sum == sum }
}
