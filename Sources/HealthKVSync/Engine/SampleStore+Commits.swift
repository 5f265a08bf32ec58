import HealthKV

extension SampleStore {
    /// Calls `tell` for commits after a mark, until the store is closed or the task is cancelled. A commit made while
    /// `tell` runs is reported too, because the receiver may have read before it. A suspended store is told of when it
    /// is back.
    ///
    /// - Parameter tell: gets whether the store was away.
    func followCommits(after mark: CommitMark, _ tell: @Sendable (_ isBack: Bool) -> Void) async {
        var (mark, wasAway) = (mark, mark.isOfAbsence)
        while await waitForCommit(after: mark) {
            guard let next = followedMark() else { return }
            mark = next
            if next.isOfAbsence {
                wasAway = true
                continue
            }
            tell(wasAway)
            wasAway = false
        }
    }
}
