import HealthKV

/// How much a peer takes at once. The engine neither sends nor requests more, whatever its own options say.
public struct PeerLimits: Sendable, Hashable, Codable {
    /// The maximum number of operations in one push; `nil` for any number.
    public var operations: Int?
    /// The maximum number of samples to request in one page; `nil` for any number.
    public var page: Int?
    /// How long a call of this peer may take; `nil` for the engine's own deadline, ``SyncOptions/callDeadline``. A peer
    /// behind a slow line may need more, a peer on this device less. The question for access has a deadline of its own.
    public var deadline: Duration?

    /// Creates limits; there are none by default.
    public init(operations: Int? = nil, page: Int? = nil, deadline: Duration? = nil) {
        self.operations = operations
        self.page = page
        self.deadline = deadline
    }
}

extension PeerLimits {
    /// Returns how many samples to request in a page.
    func page(_ wanted: Int) -> Int { min(wanted, max(1, page ?? .max)) }

    /// Splits operations into parts that the peer takes. Members of a group stay in one part, unless the group alone
    /// exceeds the limit.
    func parts(of operations: [PushOperation]) -> [ArraySlice<PushOperation>] {
        let limit = max(1, self.operations ?? .max)
        var parts: [ArraySlice<PushOperation>] = []
        var rest = operations[...]
        while rest.count > limit {
            let end = rest.startIndex + limit
            let whole = (rest.startIndex + 1..<end + 1).last { !rest[$0].isMate(of: rest[$0 - 1]) } ?? end
            parts.append(rest[..<whole])
            rest = rest[whole...]
        }
        if !rest.isEmpty { parts.append(rest) }
        return parts
    }
}

extension PushOperation {
    private var groupName: String? {
        switch kind {
        case .save(let sample): sample.group
        case .delete(let deleted): deleted.group
        }
    }

    fileprivate func isMate(of other: PushOperation) -> Bool { groupName != nil && groupName == other.groupName }
}
