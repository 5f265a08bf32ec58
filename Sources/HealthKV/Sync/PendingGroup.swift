import HealthModel

/// Operations of a peer's queue that wait together: for one type, in one state and, where they are parked, for one reason.
public struct PendingGroup: Sendable, Hashable {
    /// The type of their samples; `nil` where it was not known when they came.
    public let type: SampleType?
    /// Whether they wait, are parked or were refused for good.
    public let state: PendingOperation.State
    /// Why they are parked; `nil` for other states, and where operations of several reasons are counted together.
    public let reason: String?
    /// How many they are.
    public let count: Int
    /// None of them is to be tried before this.
    public let earliest: Instant
    let section: UInt32
}

/// How many operations wait for a peer, by state and type.
public struct PendingCounts: Sendable, Hashable {
    /// What waits together.
    public let groups: [PendingGroup]

    /// Counts of groups; of nothing where none is given.
    public init(groups: [PendingGroup] = []) { self.groups = groups }

    /// How many are in a state, of all types or of one.
    public subscript(_ state: PendingOperation.State, of type: SampleType? = nil) -> Int {
        groups.reduce(0) { $0 + ($1.state == state && (type == nil || $1.type == type) ? $1.count : 0) }
    }

    /// All that wait, are parked or were refused.
    public var total: Int { groups.reduce(0) { $0 + $1.count } }

    /// The types that something waits for, in any state.
    public var types: Set<SampleType> { Set(groups.compactMap(\.type)) }
}
