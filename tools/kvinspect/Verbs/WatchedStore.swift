import HealthKV
import LMDB

/// A store that is looked at again and again, while others write to it, compact it or replace it.
struct WatchedStore {
    /// What one look saw, and what happened since the one before.
    struct Look {
        let activity: StoreActivity
        let time: Instant
        /// Commits since the look before.
        var commits: UInt64 = 0
        var changes: [SampleType: Counts] = [:]
        /// Mass deletions of a source or a range, whose samples are not counted.
        var rangesRemoved = 0
        /// The store is another one or an older one than at the look before: nothing is known of what happened since.
        var isRestarted = false

        var added: Int { changes.values.reduce(0) { $0 + $1.added } }
        var deleted: Int { changes.values.reduce(0) { $0 + $1.deleted } }
    }

    /// Samples of a type that were saved, for the first time or again, and that were deleted.
    struct Counts {
        var added = 0
        var deleted = 0
    }

    /// Changes read at a time: a look keeps no snapshot for longer than that takes.
    private static let pageSize = 1000

    private let folder: String
    private var store: SampleStore
    private var files: [FileState?]
    private var last: StoreActivity?
    private var place: ChangeToken?

    init(_ folder: String) throws {
        self.folder = folder
        files = WatchedStore.files(of: folder)
        store = try StoreAccess.openForReading(folder)
    }

    /// Looks once. No snapshot is held when this returns.
    mutating func look() throws -> Look {
        do {
            if let last, !last.usesLocks { try reopenIfChanged() }
            return try read()
        } catch let error as StoreError where error.code == .replaced || error.code == .closed {
            try reopen()
            (last, place) = (nil, nil)
            var look = try read()
            look.isRestarted = true
            return look
        }
    }

    private mutating func read() throws -> Look {
        let activity = try store.activity()
        var look = Look(activity: activity, time: SystemClock.now())
        defer { last = activity }
        guard let last, let start = place else {
            place = activity.token
            return look
        }
        if activity.commit >= last.commit { look.commits = activity.commit - last.commit }
        do {
            place = try countChanges(since: start, in: &look)
        } catch let error as StoreError where error.code == .tokenExpired {
            look = Look(activity: activity, time: look.time, isRestarted: true)
            place = activity.token
        }
        return look
    }

    /// Counts what came up to the look, and returns where the next look goes on.
    private func countChanges(since start: ChangeToken, in look: inout Look) throws -> ChangeToken {
        let end = look.activity.token.commit
        var place = start
        var hasMore = place.commit < end
        while hasMore, place.commit <= end {
            try Interruption.check()
            let page = try store.read { try $0.changes(since: place, limit: WatchedStore.pageSize) }
            for change in page.changes {
                switch change.kind {
                case .saved(let sample): look.changes[sample.type, default: Counts()].added += 1
                case .deleted(let deleted): look.changes[deleted.type, default: Counts()].deleted += 1
                case .removedRange: look.rangesRemoved += 1
                case .interrupted: break
                }
            }
            (place, hasMore) = (page.next, page.hasMore)
        }
        return place
    }

    /// A store that is read without locks stays as it was when it was opened.
    private mutating func reopenIfChanged() throws {
        if WatchedStore.files(of: folder) != files { try reopen() }
    }

    private mutating func reopen() throws {
        try? store.close()
        files = WatchedStore.files(of: folder)
        store = try StoreAccess.reopenForReading(folder)
    }

    /// The states of the files that a write changes.
    private static func files(of folder: String) -> [FileState?] {
        [StoreFiles.dataPath(in: folder), StoreFiles.journalPath(in: folder)].map { FileSystem.state(of: $0) }
    }
}
