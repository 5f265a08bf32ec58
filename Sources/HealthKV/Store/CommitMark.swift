/// A point in a store's history. Take the mark before reading, wait with it afterwards: then no commit is missed.
public struct CommitMark: Sendable, Hashable {
    let generation: UInt64
    let commit: UInt64

    /// Whether the store could not be read: waiting after this mark ends when the store is back.
    package var isOfAbsence: Bool { commit == .max }
}
