/// What a value says of its origin: the commit that wrote it, and the session of that commit.
///
/// A killed or failed commit may leave whole values in the file, and the next commit takes its number. It never takes
/// its session: each opening for writing, and each failed commit, begins a new one.
public struct CommitStamp: Sendable, Hashable {
    /// The store's commit counter.
    public var commit: UInt64
    /// A random number; 0 in values that were written before sessions existed.
    public var session: UInt32

    public init(commit: UInt64, session: UInt32) { (self.commit, self.session) = (commit, session) }

    /// Draws the number of a new session.
    public static func drawSession(_ draw: () -> UInt64 = { .random(in: 0 ... .max) }) -> UInt32 {
        max(1, UInt32(truncatingIfNeeded: draw()))
    }
}
