import HealthModel

/// Operations of a peer's queue that wait together: of one type, in one state and, if parked, for one reason.
public struct PendingGroup: Sendable, Hashable {
    /// The type of the samples; `nil` if it was not known when the operations were queued.
    public let type: SampleType?
    /// Whether the operations wait, are parked or were permanently refused.
    public let state: PendingOperation.State
    /// Why the operations are parked; `nil` for other states, and if operations with several reasons are counted
    /// together.
    public let reason: String?
    /// The number of operations.
    public let count: Int
    /// No operation of the group is due before this time.
    public let earliest: Instant
    let section: UInt32
}

/// The number of operations that wait for a peer, by state and type.
public struct PendingCounts: Sendable, Hashable {
    /// The groups of operations.
    public let groups: [PendingGroup]

    /// Creates counts from groups.
    public init(groups: [PendingGroup] = []) { self.groups = groups }

    /// Returns the number of operations in a state, of all types or of one.
    public subscript(_ state: PendingOperation.State, of type: SampleType? = nil) -> Int {
        groups.reduce(0) { $0 + ($1.state == state && (type == nil || $1.type == type) ? $1.count : 0) }
    }

    /// The number of all operations: waiting, parked or refused.
    public var total: Int { groups.reduce(0) { $0 + $1.count } }

    /// The types that have operations, in any state.
    public var types: Set<SampleType> { Set(groups.compactMap(\.type)) }
}
