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
    /// The session of each commit of which there is a value; `nil` for a commit that several sessions wrote.
    private var writers: [UInt64: UInt32?] = [:]
    /// The sessions of the newest headers that were found, and their commit.
    private var (newest, heads): (UInt64, Set<UInt32>) = (0, [])
    private var ordered: [Stretch] = []
    /// The commits of the sound values behind the snapshot that a meta page leads to.
    private var proven: Set<CommitStamp> = []
    /// The transactions of sound headers, by commit.
    private var transactions: [CommitStamp: UInt64] = [:]

    /// Notes that there is a value of a commit.
    mutating func note(_ stamp: CommitStamp) {
        greatest[stamp.session] = max(greatest[stamp.session] ?? 0, stamp.commit)
        if let writer = writers[stamp.commit] {
            if writer != stamp.session { writers[stamp.commit] = .some(nil) }
        } else {
            writers[stamp.commit] = stamp.session
        }
    }

    /// Notes that there is a sound value of a commit.
    mutating func note(proven stamp: CommitStamp) { proven.insert(stamp) }

    /// Notes that there is a header of a commit, written by a transaction.
    mutating func note(header stamp: CommitStamp, transaction: UInt64 = 0) {
        transactions[stamp] = transaction
        if stamp.commit > newest { (newest, heads) = (stamp.commit, []) }
        if stamp.commit == newest { heads.insert(stamp.session) }
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

    /// Returns whether values of a commit were found that several sessions wrote: all but one of them were killed.
    func isShared(_ commit: UInt64) -> Bool { writers[commit] == .some(nil) }

    /// Returns whether a commit happened; `nil` if nothing that is known decides it.
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
        // Each of these may have written the next commit: the session of which a follower says that it had ended may
        // have gone on after that follower was killed. A later commit proves which one it was.
        let going = enders.union(followers).filter { (greatest[$0] ?? 0) > known + 1 }
        if going.count == 1 {
            if going.contains(stamp.session) { return true }
            return stamp.commit == known + 1 ? false : nil
        }
        // The newest header is on a page that no later commit has used. A killed one may have left another.
        guard going.isEmpty, stamp.commit == known + 1, newest == known + 1, heads.count == 1 else { return nil }
        return heads.contains(stamp.session)
    }

    /// Returns the number of transactions after that of a commit that left traces, and that may have happened:
    /// at least 1 if there is any trace.
    func transactionsLost(after commit: UInt64, transaction: UInt64) -> UInt64 {
        let behind = proven.filter { $0.commit > commit && happened($0) != false }
        guard !behind.isEmpty else { return 0 }
        let newest = behind.compactMap { transactions[$0] }.max() ?? 0
        return newest > transaction ? newest - transaction : 1
    }

    /// Whether a commit of this number happened, in one session or another: the one that was not killed.
    func happened(commit: UInt64) -> Bool {
        guard let known else { return false }
        return commit <= known || commit == newest && heads.count > 1
    }
}
