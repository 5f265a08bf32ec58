import ColumnFormat
import LMDB

/// A small file beside the data file that says: when the last writer of this process closed the store, the file was
/// sound, and it looked like this. As long as it still does, opening need not walk it.
///
/// The stamp is never trusted further than it reaches: it names the run of the system, the file, its size, its times and
/// its last transaction, and carries a checksum. Times of files are coarse, so a stamp that was made close upon the last
/// change is not trusted either. And there is none where anybody else wrote to the file since this process had walked it. Small files have none: walking them takes no longer than believing it.
struct CloseStamp: Equatable {
    private static let name = "closed.stamp"
    private static let title = "HealthKV stamp 1"
    /// No system's file times are coarser.
    private static let coarseness: Int64 = 20_000_000

    private let boot: String
    private let state: FileState
    private let transaction: UInt64

    /// The file as it is; `nil` when the system does not tell enough, or the file is small.
    private init?(folder: String, _ limits: EngineLimits) {
        guard let state = FileSystem.state(of: folder + "/data.mdb"), state.size >= limits.stampedBytes,
            let boot = FileSystem.bootIdentity, let transaction = OpeningWalk.lastTransaction(folder: folder),
            FileSystem.state(of: folder + "/data.mdb") == state
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

    /// Stamps a file that this process has closed, unless others have written to it meanwhile. Nothing is lost when that fails.
    static func write(folder: String, _ file: OpenFile, _ limits: EngineLimits) {
        guard var stamp = CloseStamp(folder: folder, limits) else { return }
        // A change within the same tick of the clock would not show.
        for _ in 0..<2 where stamp.age < coarseness {
            pauseThread(nanoseconds: max(0, min(coarseness, coarseness - stamp.age)))
            guard let later = CloseStamp(folder: folder, limits) else { return }
            stamp = later
        }
        guard stamp.age >= coarseness, file.vouches(for: stamp.state) else { return }
        let partial = folder + "/" + name + ".partial"
        FileSystem.remove(partial)
        guard FileSystem.writeSmallFile(partial, stamp.text) else { return }
        if !FileSystem.rename(partial, to: folder + "/" + name) { FileSystem.remove(partial) }
    }

    /// Whether the file is still as its stamp says.
    static func isMatching(folder: String, _ limits: EngineLimits) -> Bool {
        guard let found = FileSystem.smallFile(folder + "/" + name), let stamp = CloseStamp(folder: folder, limits)
        else { return false }
        return found == stamp.text
    }

    static func remove(folder: String) { FileSystem.remove(folder + "/" + name) }
}
