import ColumnFormat
import LMDB

/// A small file beside the data file. It records how the data file looked when the last writer of this process closed
/// the store, and that it was sound then. While the data file still looks the same, opening need not walk it.
///
/// The stamp is trusted only as far as it reaches: it names the run of the system, the file, its size, its times and
/// its last transaction, and carries a checksum. File times are coarse, so a stamp that was written right after the
/// last change is not trusted either. No stamp is written if another process wrote to the file after this process had
/// walked it. Small files get no stamp: walking them takes no longer than verifying it.
struct CloseStamp: Equatable {
    private static let title = "HealthKV stamp 1"
    /// No system's file times are coarser than this.
    private static let coarseness: Int64 = 20_000_000

    private let boot: String
    private let state: FileState
    private let transaction: UInt64

    /// Describes the file as it is now; `nil` if the system reports too little, or the file is small.
    private init?(folder: String, _ limits: EngineLimits) {
        guard let state = FileSystem.state(of: StoreFiles.dataPath(in: folder)), state.size >= limits.stampedBytes,
            let boot = FileSystem.bootIdentity, let transaction = OpeningWalk.lastTransaction(folder: folder),
            FileSystem.state(of: StoreFiles.dataPath(in: folder)) == state
        else { return nil }
        (self.boot, self.state, self.transaction) = (boot, state, transaction)
    }

    private var age: Int64 { FileSystem.nanosecondsSince1970 &- max(state.modified, state.changed) }

    private var text: [UInt8] {
        let fields: [any CustomStringConvertible] = [
            CloseStamp.title, boot, state.identity.device, state.identity.inode, state.size, state.modified,
            state.changed, transaction,
        ]
        let body = Array(fields.map(\.description).joined(separator: "\n").utf8)
        let sum = Checksum.hash(body, 0..<body.count)
        return body + Array("\n\(String(sum, radix: 16))\n".utf8)
    }

    /// Stamps a file that this process has closed, unless others have written to it meanwhile. A failure loses nothing.
    static func write(folder: String, _ file: OpenFile, _ limits: EngineLimits) {
        guard var stamp = CloseStamp(folder: folder, limits) else { return }
        // A change within the same clock tick would not show.
        for _ in 0..<2 where stamp.age < coarseness {
            pauseThread(nanoseconds: max(0, min(coarseness, coarseness - stamp.age)))
            guard let later = CloseStamp(folder: folder, limits) else { return }
            stamp = later
        }
        guard stamp.age >= coarseness, file.vouches(for: stamp.state) else { return }
        let path = StoreFiles.stampPath(in: folder)
        let partial = path + ".partial"
        FileSystem.remove(partial)
        guard FileSystem.writeSmallFile(partial, stamp.text) else { return }
        if !FileSystem.rename(partial, to: path) { FileSystem.remove(partial) }
    }

    /// Returns `true` if the file still matches its stamp.
    static func isMatching(folder: String, _ limits: EngineLimits) -> Bool {
        guard let found = FileSystem.smallFile(StoreFiles.stampPath(in: folder)),
            let stamp = CloseStamp(folder: folder, limits)
        else { return false }
        return found == stamp.text
    }

    static func remove(folder: String) { FileSystem.remove(StoreFiles.stampPath(in: folder)) }
}
