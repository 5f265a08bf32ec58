import ColumnFormat
import HealthModel

/// A mass operation that is committed before it is carried out. From its commit on, every reader skips the samples that
/// it removes, and bounded steps delete them from the chunks.
struct Intent: Sendable, Hashable {
    enum Scope: Sendable, Hashable {
        /// Samples of a type that start in a half-open range.
        case range(type: UInt32, from: Int64, to: Int64)
        /// Samples of a source, in all its revisions.
        case source(UInt32)
    }

    var scope: Scope
    /// The operation covers only samples that last changed before this position.
    var commit: UInt64
    var ordinal: UInt32
    /// When the operation was made. Its deletions are stamped with this time, however late a step carries them out.
    var clock: ChangeClock
    var time: Int64
    /// Whether each removed sample leaves a tombstone, so that no peer or import brings it back.
    var leavesTombstones: Bool
    /// Chunks before this key are done.
    var position: ChunkKey

    init(scope: Scope, commit: UInt64, ordinal: UInt32, clock: ChangeClock, time: Int64, leavesTombstones: Bool) {
        self.scope = scope
        self.commit = commit
        self.ordinal = ordinal
        self.clock = clock
        self.time = time
        self.leavesTombstones = leavesTombstones
        position = ChunkKey(lane: Lane(type: 0, duration: .hour), lower: .least)
        if case .range(let type, let from, _) = scope {
            position = ChunkKey(lane: Lane(type: type, duration: .hour), lower: .at(from))
        }
    }

    /// Returns `true` if the operation may cover samples of this lane and span of starts.
    func mayTouch(_ lane: Lane, _ starts: ClosedRange<Int64>) -> Bool {
        switch scope {
        case .range(let type, let from, let to):
            lane.type == type && starts.lowerBound < to && starts.upperBound >= from
        case .source: true
        }
    }

    /// Returns `true` if the operation removes this row. `source` is the number of the row's source.
    func hides(_ row: StoredRow, type: UInt32, source: UInt32) -> Bool {
        guard (row.commit, row.ordinal) < (commit, ordinal) else { return false }
        switch scope {
        case .range(let wanted, let from, let to): return type == wanted && row.start >= from && row.start < to
        case .source(let wanted): return source == wanted
        }
    }
}
