import ColumnFormat
import HealthModel
import LMDB

/// The queue of writes that wait for the writing thread.
struct WriteQueue {
    var members: [WriteMember] = []
    var isClosed = false

    /// Removes and returns the first `limit` members.
    mutating func take(limit: Int) -> [WriteMember] {
        guard members.count > limit else {
            // Hands over the array itself: a copy of all members would share its storage with the queue.
            defer { members = [] }
            return members
        }
        defer { members.removeFirst(limit) }
        return Array(members.prefix(limit))
    }
}

/// One call of `write`: the work, and the callback to run once the work is durable.
struct WriteMember: Sendable {
    let run: @Sendable (inout WriteTransaction) throws -> Void
    let finish: @Sendable ((any Error)?) -> Void
}
