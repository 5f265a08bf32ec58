import ColumnFormat

/// The spans that the change records name, by the commits that the records cover.
struct FeedCoverage {
    /// In the order of commits. `spans` is `nil` for a record that cannot be read, which is a finding of its own: it
    /// may name any span.
    private var records: [(commits: ClosedRange<UInt64>, spans: [(lane: Lane, starts: ClosedRange<Int64>)]?)] = []

    /// - Parameter areReported: whether unreadable records are findings of this check. Otherwise the samples to which
    ///   no other record leads are.
    init(_ snapshot: borrowing Snapshot, areReported: Bool) {
        var records = records
        ChangeLog.forEachReadableRecord(in: snapshot) { commit, result in
            switch result {
            case .success(let record): records.append((record.commits, record.spans))
            case .failure(let error):
                guard areReported || error.isOfNewerRelease, let commit else { return }
                let first = min((records.last?.commits.upperBound ?? 0) &+ 1, commit)
                records.append((first...commit, nil))
            }
        }
        self.records = records
    }

    func covers(_ row: StoredRow, _ lane: Lane) -> Bool {
        let low = (0..<records.count).firstIndex(notPreceding: { records[$0].commits.upperBound < row.commit })
        guard low < records.count, records[low].commits.contains(row.commit) else { return false }
        return records[low].spans?.contains { $0.lane == lane && $0.starts.contains(row.start) } ?? true
    }
}
