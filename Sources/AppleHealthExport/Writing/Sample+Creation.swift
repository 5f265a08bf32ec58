import HealthModel

extension Sample {
    /// The time at which the sample counts as written. The clock of a sample that a peer brought says only after which
    /// look it came (SEMANTICS C2).
    var creation: Instant? {
        guard let modified else { return nil }
        guard origin == .imported, !isOpenEnded, modified.replica != 0 || modified.time.nanoseconds == 0 else {
            return modified.time
        }
        return max(end, modified.time)
    }
}
