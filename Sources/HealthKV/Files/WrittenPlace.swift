import HealthModel
import LMDB
import Synchronization

/// How far the data file was written, kept in an extended attribute of the file.
///
/// Copying an older state of the file over it (`cp older data.mdb`) changes its bytes and leaves the attribute. So a
/// file that is behind its attribute was rolled back. The attribute is set when the store is closed or suspended, and
/// now and then while it is written, always after the commit that it names. So it is never ahead of the file. It may be
/// behind, because a process was killed or the file system keeps no attributes: then only peers detect a rollback
/// (docs/decisions/0027).
final class WrittenPlace: Sendable {
    static let attribute = "user.healthkv.written"
    /// In nanoseconds. Setting the attribute takes some system calls, too many for every commit.
    private static let interval: Int64 = 1_000_000_000

    private struct State {
        /// The last commit of this process that the attribute does not yet name.
        var unwritten: ChangeToken?
        var isWrittenAt = Int64.min
    }

    private let state = Monitor(State())

    /// Schedules the attribute to be set if the file has none: the file is new, or took the place of another.
    func begin(_ folder: String, at token: @autoclosure () throws -> ChangeToken) rethrows {
        guard WrittenPlace.token(of: folder) == nil else { return }
        let token = try token()
        state.withLock { $0.unwritten = token }
    }

    /// Notes a commit that is on the disk.
    func note(_ token: ChangeToken, _ file: FileIdentity, _ folder: String) {
        let now = FileSystem.monotonicNanoseconds
        let isDue = state.withLock { state in
            state.unwritten = token
            guard now &- state.isWrittenAt >= WrittenPlace.interval || state.isWrittenAt == .min else { return false }
            state.isWrittenAt = now
            return true
        }
        if isDue { write(file, folder) }
    }

    /// Updates the attribute to the last commit of this process.
    func write(_ file: FileIdentity, _ folder: String) {
        let unwritten = state.withLock { state in
            defer { state.unwritten = nil }
            return state.unwritten
        }
        let path = StoreFiles.dataPath(in: folder)
        guard let token = unwritten, FileSystem.identity(of: path) == file else { return }
        // Another process may have written further.
        if let known = WrittenPlace.token(of: folder), known.store == token.store,
            (known.epoch, known.commit) >= (token.epoch, token.commit)
        {
            return
        }
        FileSystem.setAttribute(WrittenPlace.attribute, of: path, Array(token.description.utf8))
    }

    /// Returns the token in the attribute of a store's file; `nil` if there is none.
    static func token(of folder: String) -> ChangeToken? {
        FileSystem.attribute(attribute, of: StoreFiles.dataPath(in: folder)).flatMap {
            ChangeToken(String(decoding: $0, as: UTF8.self))
        }
    }

    /// Returns `true` if the file is an older state than the last one written to it, or has another history. Read the
    /// attribute before the transaction begins; otherwise another writer may write in between.
    static func isRolledBack(
        _ written: ChangeToken?, _ header: StoreHeader, _ view: View, _ tables: OpenTables
    ) throws -> Bool {
        guard let written, written.store == header.storeID else { return false }
        if header.epoch < written.epoch { return true }
        return try ChangeLog.fit(of: written, header, view, tables).isRolledBack
    }
}
