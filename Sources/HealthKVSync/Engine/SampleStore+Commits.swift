import HealthKV

extension SampleStore {
    /// Calls `tell` for commits after a mark, until the store is closed or the task is cancelled. A commit made while
    /// `tell` runs is reported too, because the receiver may have read before it.
    func followCommits(after mark: CommitMark, _ tell: @Sendable () -> Void) async {
        var mark = mark
        while await waitForCommit(after: mark) {
            guard let next = try? commitMark() else { return }
            mark = next
            tell()
        }
    }
}
