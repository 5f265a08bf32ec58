import ColumnFormat

/// Which commits happened, as the sessions that followed them say.
///
/// A session that is killed leaves at most the commit after its last one. Its successor names that last commit, so
/// every other value of a commit that has a successor never happened.
struct SessionHistory {
    /// A stretch of commits that one session wrote, after the last one of the session before.
    private struct Stretch: Hashable {
        let after: UInt64
        let last: CommitStamp
    }

    private var stretches: Set<Stretch> = []
    /// The greatest commit at which a session is known to have ended.
    private var known: UInt64?
    /// The sessions that ended there, and those that say they followed. Without a contradiction one has ended.
    private var (enders, followers): (Set<UInt32>, Set<UInt32>) = ([], [])
    /// The greatest commit of each session of which there is a value.
    private var greatest: [UInt32: UInt64] = [:]
    private var ordered: [Stretch] = []

    /// Notes that there is a value of a commit.
    mutating func note(_ stamp: CommitStamp) {
        greatest[stamp.session] = max(greatest[stamp.session] ?? 0, stamp.commit)
    }

    /// Notes what a session said of those before it.
    mutating func note(_ ended: [CommitStamp], by session: UInt32) {
        guard let ender = ended.last else { return }
        let last = ender.commit
        for (one, next) in zip(ended, ended.dropFirst()) { stretches.insert(Stretch(after: one.commit, last: next)) }
        if known.map({ $0 < last }) ?? true { (known, enders, followers) = (last, [], []) }
        if known == last {
            enders.insert(ender.session)
            followers.insert(session)
        }
        ordered = []
    }

    /// Prepares for questions.
    mutating func settle() { ordered = stretches.sorted { $0.last.commit < $1.last.commit } }

    /// Returns whether a commit happened; `nil` if no session that is known says so.
    func happened(_ stamp: CommitStamp) -> Bool? {
        guard let known else { return nil }
        if stamp.commit <= known {
            var low = 0
            var high = ordered.count
            while low < high {
                let middle = (low + high) / 2
                if ordered[middle].last.commit < stamp.commit { low = middle + 1 } else { high = middle }
            }
            // After power was lost, sessions may contradict each other.
            let owners = Set(ordered[low...].prefix { $0.after < stamp.commit }.map(\.last.session))
            return owners.count == 1 ? owners.contains(stamp.session) : nil
        }
        // Each follower says that it wrote the next commit. A later one of its commits proves it.
        let proven = followers.filter { (greatest[$0] ?? 0) > known + 1 }
        guard stamp.commit == known + 1 else { return proven == [stamp.session] ? true : nil }
        if enders == [stamp.session] { return false }
        return proven.count == 1 ? proven.contains(stamp.session) : nil
    }
}
