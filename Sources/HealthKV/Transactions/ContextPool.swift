import LMDB

/// What two reads must share to see the same bytes at the same addresses.
struct SnapshotPlace: Sendable, Equatable {
    /// The number of the ``OpenFile``.
    let file: UInt64
    /// The number of the map: a larger map has other addresses.
    let map: Int
    /// LMDB's transaction id of the snapshot.
    let transaction: Int
    /// The last commit in the journal over it.
    let commit: UInt64
}

/// The contexts of ended reads, for the next reads of the same snapshot: what they learned of it stays true. A read of
/// another snapshot begins with a new context.
final class ContextPool: Sendable {
    private struct Kept {
        var place: SnapshotPlace?
        var contexts: [ReadContext] = []
    }

    private let kept = Monitor(Kept())
    /// More readers at the same time than this begin with new contexts.
    private static let limit = 4

    /// Takes a context that was made for this snapshot; `nil` if there is none. It belongs to the caller until it is
    /// given back.
    func take(_ place: SnapshotPlace) -> ReadContext? {
        kept.withLock { kept in kept.place == place ? kept.contexts.popLast() : nil }
    }

    /// Keeps a context that its reader no longer uses.
    func give(_ context: ReadContext, _ place: SnapshotPlace) {
        context.rest()
        // Freed after the lock is released.
        var dropped: [ReadContext] = []
        kept.withLock { kept in
            if kept.place != place {
                // A reader that began earlier may end later.
                if let known = kept.place, known.file == place.file,
                    (known.transaction, known.commit) > (place.transaction, place.commit)
                {
                    return
                }
                swap(&dropped, &kept.contexts)
                kept.place = place
            }
            if kept.contexts.count < ContextPool.limit, context.isLight { kept.contexts.append(context) }
        }
    }

    /// Forgets everything: a suspended store should need little memory.
    func empty() {
        kept.withLock { $0 = Kept() }
    }
}
