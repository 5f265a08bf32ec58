import ColumnFormat
import LMDB

/// The rows of the small chunks that this process wrote last. An app mostly adds to the last chunk of a type, and would
/// have to decode it again for each sample.
///
/// An entry counts for the very bytes that were written. What another process wrote has others, and so has what was
/// written before a step that was undone.
final class WrittenChunks: Sendable {
    struct Entry: Sendable {
        var key: ChunkKey
        var hot: [UInt8]
        var details: [UInt8]
        var rows: [StoredRow]
    }

    private let entries = Monitor<[Entry]>([])
    /// Whether each use is compared with what decoding gives: for tests.
    let isCompared: Bool

    init(isCompared: Bool) { self.isCompared = isCompared }

    /// The most chunks that are remembered: an app writes few types at a time.
    private static let chunkLimit = 16
    /// The most rows of a chunk that is remembered, those of a tail.
    static let rowLimit = 64
    /// The most bytes of one: texts and routes of a few samples may be long.
    private static let byteLimit = 16 << 10

    /// Remembers a chunk as it was written.
    func note(_ key: ChunkKey, hot: [UInt8], details: [UInt8], _ rows: ArraySlice<StoredRow>) {
        // A derived id follows from names, and their numbers may be given again after a step that was undone.
        guard rows.count <= WrittenChunks.rowLimit, hot.count + details.count <= WrittenChunks.byteLimit,
            !rows.contains(where: { $0.flags.contains(.derivedID) })
        else {
            return
        }
        let entry = Entry(key: key, hot: hot, details: details, rows: Array(rows))
        entries.withLock { entries in
            if let index = entries.firstIndex(where: { $0.key == key }) {
                entries.remove(at: index)
            } else if entries.count >= WrittenChunks.chunkLimit {
                entries.removeFirst()
            }
            entries.append(entry)
        }
    }

    /// Returns what was last written under a key, and forgets it: it is about to be written again.
    func take(_ key: ChunkKey) -> Entry? {
        entries.withLock { entries in
            entries.firstIndex { $0.key == key }.map { entries.remove(at: $0) }
        }
    }
}
