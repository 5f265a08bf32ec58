import HealthKV

extension SampleStore {
    /// Tells of commits behind a mark until the store is closed or the task cancelled. One that is made while `tell` is under way
    /// is told of too, for whoever was told may have read before it.
    func followCommits(after mark: CommitMark, _ tell: @Sendable () -> Void) async {
        var mark = mark
        while await waitForCommit(after: mark) {
            guard let next = try? commitMark() else { return }
            mark = next
            tell()
        }
    }
}
